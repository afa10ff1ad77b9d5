// One life of a server under load: RUNTIME DATA_DIR LIFE. Sends itself signed webhooks, every id twice at once, and
// prints `ack ENTITY SOURCE ID` once one is answered, `run ENTITY ID ATTEMPT` when a handler starts. Life 0 sends
// nothing: its queues run.
import { createHmac } from "node:crypto";
import { Hono } from "hono";
import { agents, defineAgent } from "../../core/agents/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { webhooks } from "../../core/webhooks/mod.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", dataDir = "", lifeText = "1"] = process.argv.slice(2);
const life = Number(lifeText);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });
const secret = "a secret for crash tests";
const SENDERS = 12;

/** Straight to the pipe: what was printed before the kill had happened before it. */
const tell = printNow;

const worker = defineAgent({
  name: "crash-worker",
  schema: [
    "CREATE TABLE IF NOT EXISTS crash_done (actor TEXT NOT NULL, id TEXT NOT NULL, attempt INTEGER)",
  ],
  async onEvent(agent, event, run) {
    tell(`run ${agent.name} ${event.id} ${run.attempt}`);
    await platform.system.sleep(Math.random() * 5);
    await agent.sql`INSERT INTO crash_done (actor, id, attempt) VALUES (${agent.key}, ${event.id}, ${run.attempt})`;
  },
  // A kill during a run costs an attempt; none of them may run out.
  retry: { maxAttempts: 1000, baseMs: 1, maxMs: 10 },
});
const app = new Hono();
const sources = {
  plain: { scheme: "generic", secret },
  worked: { scheme: "generic", secret, agent: "crash-worker", respond: "queued" },
} as const;
app.route("/webhooks", webhooks({ platform, sources }));
app.route("/agents", agents({ platform, auth: "off", agents: [worker] }));

async function send(id: string): Promise<void> {
  const [, n = "0"] = id.split("-");
  const body = JSON.stringify({ id, type: "crash" });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const source = Number(n) % 8 === 0 ? "worked" : "plain";
  const entity = `entity-${Number(n) % 5}`;
  const response = await app.fetch(
    new Request(`http://crash.test/webhooks/${source}/${entity}`, {
      method: "POST",
      body,
      headers: { "x-signature": signature, "content-length": String(body.length) },
    }),
  );
  await response.arrayBuffer();
  if (response.status !== 200 && response.status !== 202) throw new Error(`${response.status}`);
  tell(`ack ${entity} ${source} ${id}`);
}

let next = 0;
async function sender(): Promise<void> {
  for (;;) {
    next += 1;
    // Some ids are of the life before: acknowledged or cut off then, they must not become a second event.
    const id = next % 5 === 0 ? `${life - 1}-${Math.ceil(Math.random() * 300)}` : `${life}-${next}`;
    await Promise.all([send(id), send(id)]);
  }
}

tell("ready");
if (life > 0) await Promise.all(Array.from({ length: SENDERS }, sender));
// Only the queues run; whoever started this ends it.
else await platform.system.sleep(3_600_000);
