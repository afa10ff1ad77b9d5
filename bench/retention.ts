// Retention while events come in: one entity holds 100 000 events that are too old and too many. Its new events are sent
// as fast as they are answered, and a WebSocket client has its agent's mailbox answer a call every 20 ms. The goal: no
// call waits for more than 100 ms. Beside it, the same load on an entity that has nothing to delete.
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { WebSocket } from "ws";
import { causeyCommand, TOKEN } from "./harness/causey.ts";
import { type Figure, once, percentile } from "./harness/figure.ts";
import { type Call, sendAll, sendLoad } from "./harness/load.ts";
import type { Options } from "./harness/options.ts";
import { runtimes, start } from "./harness/servers.ts";

const ROWS = 100_000;
const KEPT = 1000;
const PROBE_MS = 20;
const ENTITY = "crowded";
const secret = "bench-secret-0123456789abcdef";

type Runtime = keyof typeof runtimes;
const names: readonly Runtime[] = ["Node", "Deno", "Bun"];

/** Runs `retention`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const { connections: [connections = 16] = [], ms, only } = options;
  const title = `retention over ${ROWS} rows during a burst of ${ms / 1000} s, ${connections} connections`;
  const field = names.filter((name) => only === undefined || name === only);
  const figures: Figure[] = [];
  for (const name of field) figures.push(...(await measured(title, name, { connections, ms })));
  yield figures;
}

interface Burst {
  readonly connections: number;
  readonly ms: number;
}

async function measured(title: string, name: Runtime, burst: Burst): Promise<Figure[]> {
  const sources = { orders: { scheme: "generic", secret } };
  const { command, env } = causeyCommand(name, { webhooks: { sources } });
  const option = (flag: string): string => command[command.indexOf(flag) + 1] ?? "";
  const filling = await start(command, env);
  await sendAll(filling.url, ROWS, (n) => event(ENTITY, n));
  await filling.stop();
  const db = new DatabaseSync(`${option("--data-dir")}/causey.db`);
  db.exec("UPDATE agents_events SET timestamp = '2020-01-01T00:00:00.000Z'");
  const file = option("--config");
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  const retention = { maxEvents: KEPT, maxAgeDays: 30 };
  writeFileSync(file, JSON.stringify({ ...config, webhooks: { sources, retention } }));

  const server = await start(command, env);
  const figures: Figure[] = [];
  try {
    for (const [entity, contestant] of [
      ["empty", `nothing to delete, ${name}`],
      [ENTITY, `causey on ${name}`],
    ] as const) {
      const { waits, acks } = await probed(server.url, entity, burst);
      const [row] = db.prepare("SELECT COUNT(*) AS n FROM agents_events").all();
      const found = {
        "events/s": (acks.length * 1000) / burst.ms,
        "ack p99 ms": percentile(acks, 0.99),
        "call p99 ms": percentile(waits, 0.99),
        "call max ms": waits.at(-1) ?? Number.NaN,
        "rows left": Number(row?.["n"]),
      };
      const goals = entity === ENTITY ? [{ what: "call max ms", atMost: 100 }] : [];
      figures.push(once(title, contestant, found, goals));
    }
  } finally {
    db.close();
    await server.stop();
  }
  return figures;
}

/** Ascending: how long calls waited for the mailbox, and events for their answer, in ms. */
async function probed(
  url: URL,
  entity: string,
  { connections, ms }: Burst,
): Promise<{ waits: number[]; acks: number[] }> {
  const path = `/agents/webhook-agent/${entity}?token=${TOKEN}`;
  const socket = new WebSocket(new URL(path, `ws://${url.host}`));
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const asked = new Map<string, number>();
  const waits: number[] = [];
  socket.on("message", (data: Buffer) => {
    const { id } = JSON.parse(data.toString()) as { id?: string };
    const since = asked.get(id ?? "");
    if (since !== undefined) waits.push(performance.now() - since);
  });
  const timer = setInterval(() => {
    const id = String(asked.size);
    asked.set(id, performance.now());
    socket.send(JSON.stringify({ type: "rpc", id, method: "getEvents", args: [1] }));
  }, PROBE_MS);
  const call = (n: number): Call => event(entity, ROWS + n);
  const { whole: acks } = await sendLoad(url, { call, connections, ms });
  clearInterval(timer);
  socket.terminate();
  const ascending = (list: readonly number[]): number[] => list.toSorted((a, b) => a - b);
  return { waits: ascending(waits), acks: ascending(acks) };
}

function event(entity: string, n: number): Call {
  const body = JSON.stringify({ event_id: `e-${n}`, event: "made", padding: "x".repeat(200) });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  return { path: `/webhooks/orders/${entity}`, headers: { "x-signature": signature }, body };
}
