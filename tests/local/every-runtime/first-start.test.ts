import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { childrenOf } from "../process-table.ts";
import { exitOf, lineWith, runtimes, startCommand } from "../runtimes.ts";

const folders: string[] = [];
afterEach(() => folders.splice(0).forEach((one) => rmSync(one, { recursive: true, force: true })));

/** Serves until `use` is done with it; tells which processes it had started before it listened. */
async function served(
  runtime: (typeof runtimes)[number],
  dataDir: string,
  use: (url: string) => Promise<void>,
  meet: (pid: number) => void = () => undefined,
): Promise<number[]> {
  const child = startCommand(runtime, ["serve", "--port", "0", "--data-dir", dataDir]);
  const pid = child.pid ?? 0;
  const started = new Set<number>();
  const watch = setInterval(() => {
    for (const one of childrenOf(pid)) {
      if (!started.has(one)) meet(one);
      started.add(one);
    }
    // The process lives for seconds.
  }, 50);
  try {
    const line = await lineWith(child, "Listening");
    clearInterval(watch);
    await use(/http:[^ ]+/u.exec(line)?.[0] ?? "");
    await eventually(() => childrenOf(pid).length === 0, "the other process has ended");
  } finally {
    clearInterval(watch);
    child.kill("SIGTERM");
    await exitOf(child);
  }
  return [...started];
}

describe.each(runtimes)("causey serve on %s, on a new data folder", (runtime) => {
  const folder = (): string => {
    const dataDir = mkdtempSync(join(tmpdir(), "causey-first-"));
    folders.push(dataDir);
    return dataDir;
  };
  const asking = (dataDir: string) => async (url: string) => {
    const address = `${url}/client/v4/accounts/local/ai-search/instances/demo`;
    const token = readFileSync(join(dataDir, "token"), "utf8").trim();
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const body = JSON.stringify({ query: "rotate the master key" });
    const found = await fetch(`${address}/search`, { method: "POST", headers, body });
    const { result } = (await found.json()) as { result: { chunks: unknown[] } };
    expect(result.chunks.length).toBeGreaterThan(0);
  };

  it("has the demo made by a process that ends, and not again", LONG, async () => {
    const dataDir = folder();
    expect(await served(runtime, dataDir, asking(dataDir))).toHaveLength(1);
    expect(await served(runtime, dataDir, asking(dataDir))).toEqual([]);
  });

  // A demo that is half made is finished above the runtimes: one of them is enough.
  it.each(runtime === "node" ? [0, 800] : [])(
    "makes what that process did not, killed after %i ms",
    LONG,
    async (ms) => {
      const dataDir = folder();
      const kill = (pid: number): void => void setTimeout(() => killed(pid), ms);
      expect(await served(runtime, dataDir, asking(dataDir), kill)).toHaveLength(1);
    },
  );
});

function killed(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
