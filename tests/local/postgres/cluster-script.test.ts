import { spawn } from "node:child_process";
import { beforeEach, expect, it } from "vitest";
import { LONG } from "../../cases/eventually.ts";
import { root } from "../../config/shared.ts";
import { lacksPostgres } from "../../fakes/postgres.ts";
import { exitOf, lineWith } from "../runtimes.ts";

const lacks = await lacksPostgres();
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});

it("npm run cluster serves at one port, and ends everything", LONG, async () => {
  const child = spawn(`${root}node_modules/node/bin/node`, ["scripts/cluster.ts"], {
    cwd: root,
    env: { ...process.env, CAUSEY_PORT: "0", CAUSEY_CHROMIUM_PATH: process.execPath },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines: string[] = [];
  child.stdout.on("data", (chunk: Uint8Array) => lines.push(new TextDecoder().decode(chunk)));
  const [, url = ""] = (await lineWith(child, "All ")).split(/\s+/u);
  const statuses = await Promise.all(
    Array.from({ length: 6 }, async () => (await fetch(`${url}/readyz`)).status),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  const servers = lines.join("").match(/^Server .*$/gmu) ?? [];
  expect(servers).toHaveLength(3);
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
  const processes = servers.map((line) => Number(/process (\d+)/u.exec(line)?.[1]));
  for (const one of processes) expect(() => process.kill(one, 0)).toThrow("ESRCH");
});
