import { spawn } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { eventually, LONG } from "../../cases/eventually.ts";
import { root } from "../../config/shared.ts";
import { seed } from "../command/run-command.ts";
import { exitOf, missing } from "../runtimes.ts";

const tasks = { node: "serve", deno: "serve:deno", bun: "serve:bun" } as const;

/** The task of `npm start`, or of its like on another runtime. */
function run(task: string, ...args: string[]) {
  return spawn(process.execPath, [`${root}scripts/run.mjs`, task, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

describe.each(["node", "deno", "bun"] as const)("npm start -- --watch on %s", (runtime) => {
  it("restarts when a source file changes, and its threads work", LONG, async ({ skip }) => {
    const lacking = missing(runtime);
    if (lacking !== false) skip(lacking);
    const dataDir = mkdtempSync(join(inject("scratch"), "watch-"));
    await seed(dataDir);
    const child = run(tasks[runtime], "--watch", "--port", "0", "--data-dir", dataDir);
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (chunk) => (output += String(chunk)));
    const addresses = (): string[] =>
      [...output.matchAll(/^Listening +(\S+)/gmu)].map(([, address = ""]) => address);
    try {
      await eventually(() => addresses().length === 1, "the server listens");
      rewriteFirstByte(`${root}core/api.ts`);
      await eventually(() => addresses().length === 2, "the server listens again");
      const token = readFileSync(join(dataDir, "token"), "utf8").trim();
      const url = `${addresses()[1]}/client/v4/accounts/local/ai-search/instances/demo/search`;
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const body = JSON.stringify({ query: "rotate the master key" });
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(200);
      expect(output).not.toMatch(/"level":"(?:warn|error)".*(?:failed|thread)/u);
    } finally {
      // Deno's watcher outlives a server that ends: it waits for the next change.
      const end = setInterval(() => child.kill("SIGTERM"), 1000);
      child.kill("SIGTERM");
      await exitOf(child);
      clearInterval(end);
    }
  });
});

/** Changes a file for whoever watches it and leaves its bytes: other tests read it meanwhile. */
function rewriteFirstByte(path: string): void {
  const file = openSync(path, "r+");
  const byte = new Uint8Array(1);
  readSync(file, byte, 0, 1, 0);
  writeSync(file, byte, 0, 1, 0);
  closeSync(file);
}

describe("npm run serve:workers -- --watch", () => {
  it("says which tasks can restart on change", async () => {
    const child = run("serve:workers", "--watch");
    let errors = "";
    child.stderr.on("data", (chunk) => (errors += String(chunk)));
    expect(await exitOf(child)).toBe(1);
    expect(errors).toContain("serve, serve:deno, serve:bun can");
  });
});
