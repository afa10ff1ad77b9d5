// What a server that does nothing keeps in memory ten seconds after its start: `causey serve` of the packed package, its
// first start, which makes the demo, and a later one. Then what much that does nothing costs: 10 000 entities that had one event each, while they are in memory, when
// idleness has dropped them, and when 10 000 others have come; and 10 000 open WebSockets, ten per entity. Resident
// memory above that of the same server after 20 000 events to 50 entities. It is what the system gave, so it holds what
// a runtime keeps for later and SQLite's page cache (up to 32 MB). `--only entities`, `--only Node` narrow it down.
import { createHmac } from "node:crypto";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WebSocket } from "ws";
import { packClone } from "../tests/package/packed.ts";
import { atExit } from "./harness/at-exit.ts";
import { causeyCommand, denoFlags, TOKEN } from "./harness/causey.ts";
import { type Figure, once } from "./harness/figure.ts";
import { type Call, sendAll } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { type Running, runtimes, start } from "./harness/servers.ts";

const COUNT = 10_000;
const WARM_UP = 20_000;
const SOCKETS_PER_ENTITY = 10;
/** Instances are dropped after 60 s without a call, looked for every 30 s. */
const DROPPED_MS = 95_000;
/** For what was needed meanwhile to be given back. */
const SETTLE_MS = 5000;
const STARTED_MS = 10_000;
/** The most that a server keeps, MB. */
const STARTED_GOALS = { Node: 110, Deno: 100, Bun: 75 };
const secret = "bench-secret-0123456789abcdef";

type Runtime = keyof typeof runtimes;
const names: readonly Runtime[] = ["Node", "Deno", "Bun"];
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Runs `idle`. */
export async function* bench({ only }: Options): AsyncGenerator<Figure[]> {
  const isWanted = (title: string): boolean =>
    only === undefined || title.includes(only) || names.some((name) => name === only);
  const field = names.filter((name) => !names.some((one) => one === only) || name === only);
  if (isWanted(STARTS)) yield await starts(field);
  for (const [title, measure] of [
    [`idle: ${COUNT} entities`, entities],
    [`idle: ${COUNT} WebSockets`, sockets],
  ] as const) {
    if (!isWanted(title)) continue;
    const figures: Figure[] = [];
    for (const name of field) figures.push(await measured(title, name, measure));
    yield figures;
  }
}

const STARTS = "idle: after the start";

async function starts(field: readonly Runtime[]): Promise<Figure[]> {
  const packed = packClone();
  atExit(() => rmSync(packed.folder, { recursive: true, force: true }));
  // Deno looks for packages in node_modules where it is started beside a manifest.
  writeFileSync(join(packed.project, "package.json"), '{"type":"module"}');
  const cli = join(packed.project, "node_modules/causey/dist/cli/main.js");
  const figures: Figure[] = [];
  for (const name of field) {
    const dataDir = join(packed.folder, `data-${name}`);
    const flags = name === "Deno" ? denoFlags() : [];
    const command = [...runtimes[name], ...flags, cli, "serve", "--port", "0"] as const;
    const megabytes = async (): Promise<number> => {
      const env = { CAUSEY_CHROMIUM_PATH: process.execPath };
      const server = await start([...command, "--data-dir", dataDir], env, packed.project);
      await pause(STARTED_MS);
      const rss = server.rssMb();
      await server.stop();
      return rss;
    };
    const measures = { "first start MB": await megabytes(), "later start MB": await megabytes() };
    const goal = { what: "later start MB", atMost: STARTED_GOALS[name] };
    figures.push(once(STARTS, `causey on ${name}`, measures, [goal]));
  }
  return figures;
}

async function measured(
  title: string,
  name: Runtime,
  measure: (title: string, name: Runtime, server: Running) => Promise<Figure>,
): Promise<Figure> {
  const config = { webhooks: { sources: { orders: { scheme: "generic", secret } } } };
  const { command, env } = causeyCommand(name, config);
  const server = await start(command, env);
  try {
    await sendAll(server.url, WARM_UP, (n) => event(`warm-${n % 50}`, n));
    await pause(SETTLE_MS);
    return await measure(title, name, server);
  } finally {
    await server.stop();
  }
}

async function entities(title: string, name: Runtime, server: Running): Promise<Figure> {
  const before = server.rssMb();
  await sendAll(server.url, COUNT, (n) => event(`entity-${n}`, n));
  await pause(SETTLE_MS);
  const started = server.rssMb() - before;
  await pause(DROPPED_MS);
  const idle = server.rssMb() - before;
  // Whether what was dropped is free for others, even where it was not given back to the system.
  await sendAll(server.url, COUNT, (n) => event(`other-${n}`, n));
  await pause(SETTLE_MS);
  const figures = {
    "before MB": before,
    "started MB more": started,
    "idle MB more": idle,
    "next started MB more": server.rssMb() - before,
  };
  return once(title, `causey on ${name}`, figures, [{ what: "idle MB more", atMost: 60 }]);
}

async function sockets(title: string, name: Runtime, server: Running): Promise<Figure> {
  const before = server.rssMb();
  const open: WebSocket[] = [];
  for (let at = 0; at < COUNT; at += 100) {
    const some = Array.from({ length: 100 }, (_, n) => connect(server.url, at + n));
    open.push(...(await Promise.all(some)));
  }
  await pause(SETTLE_MS);
  const more = server.rssMb() - before;
  for (const socket of open) socket.terminate();
  const figures = { "before MB": before, "open MB more": more };
  return once(title, `causey on ${name}`, figures, [{ what: "open MB more", atMost: 250 }]);
}

function connect(url: URL, n: number): Promise<WebSocket> {
  const entity = `watched-${Math.floor(n / SOCKETS_PER_ENTITY)}`;
  const path = `/agents/webhook-agent/${entity}?token=${TOKEN}`;
  const socket = new WebSocket(new URL(path, `ws://${url.host}`), { perMessageDeflate: false });
  return new Promise((resolve, reject) => {
    socket.once("open", () => resolve(socket)).once("error", reject);
  });
}

function event(entity: string, n: number): Call {
  const body = JSON.stringify({ event_id: `e-${n}`, event: "made", padding: "x".repeat(900) });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  return { path: `/webhooks/orders/${entity}`, headers: { "x-signature": signature }, body };
}
