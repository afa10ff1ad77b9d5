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
  const [, url = "", , token = ""] = (await lineWith(child, "All ")).split(/\s+/u);
  const statuses = await Promise.all(
    Array.from({ length: 6 }, async () => (await fetch(`${url}/readyz`)).status),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  const nodes = await nodesOf(url, token);
  expect(nodes.all.size).toBe(3);
  expect([...nodes.all]).toContain(nodes.own);
  expect(new Set(await shownNodes(url, token))).toEqual(nodes.all);
  const servers = lines.join("").match(/^Server .*$/gmu) ?? [];
  expect(servers).toHaveLength(3);
  child.kill("SIGINT");
  expect(await exitOf(child)).toBe(0);
  const processes = servers.map((line) => Number(/process (\d+)/u.exec(line)?.[1]));
  for (const one of processes) expect(() => process.kill(one, 0)).toThrow("ESRCH");
});

/** Reads from `/metrics` which servers live, and which one has answered. */
async function nodesOf(url: string, token: string) {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`${url}/metrics`, { headers })).text();
  const up = [...text.matchAll(/^causey_node_up\{node="([^"]+)",machine="[^"]+"\} 1$/gmu)];
  const [, own] = /^process_cpu_seconds_total\{node="([^"]+)"\}/mu.exec(text) ?? [];
  return { own, all: new Set(up.map(([, node]) => node)) };
}

/** Reads from the console's stream which servers it shows. */
async function shownNodes(url: string, token: string): Promise<string[]> {
  const own = { "x-causey-console": "1", "content-type": "application/json" };
  const body = JSON.stringify({ token });
  const session = await fetch(`${url}/console/session`, { method: "POST", headers: own, body });
  const cookie = session.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
  const over = new AbortController();
  const events = await fetch(`${url}/console/events`, {
    headers: { ...own, cookie },
    signal: over.signal,
  });
  let text = "";
  for await (const chunk of events.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (/^event: overview\ndata: .*\n/mu.test(text)) break;
  }
  over.abort();
  const [, data = "{}"] = /^event: overview\ndata: (.*)$/mu.exec(text) ?? [];
  const { nodes } = JSON.parse(data) as { nodes: readonly { readonly address: string }[] };
  return nodes.map(({ address }) => address);
}
