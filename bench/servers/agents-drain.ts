// Stores jobs of one agent behind one that waits, lets it go, and prints as JSON what working them off took. Arguments: `tasks`,
// `events`, or `states` (events whose handler sets the state), and how many.
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agents, defineAgent, getAgentByName } from "../../core/agents/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { webhooks } from "../../core/webhooks/mod.ts";

declare const Deno: unknown;
declare const Bun: unknown;

const [what = "tasks", many = "5000"] = process.argv.slice(2);
const count = Number(many);
const secret = "bench-secret-0123456789abcdef";
/** Jobs that are handed in at a time. */
const AT_A_TIME = 50;

const dataDir = mkdtempSync(join(tmpdir(), "causey-bench-"));
const platform = await open(dataDir);
let release = (): void => undefined;
const gate = new Promise<void>((resolve) => (release = resolve));
let started = (): void => undefined;
const waits = new Promise<void>((resolve) => (started = resolve));
// Nothing else keeps a Node process while its platform works.
setInterval(() => undefined, 1000);
let left = count;
let drained = (): void => undefined;
const all = new Promise<void>((resolve) => (drained = resolve));
/** The order in which jobs ran: one that runs before an earlier one is a fault. */
let last = -1;

async function handled(n: number): Promise<void> {
  if (n < 0) {
    started();
    await gate;
    return;
  }
  if (n !== last + 1) throw new Error(`${n} ran after ${last}`);
  last = n;
  if (--left === 0) drained();
}

const drain = defineAgent({
  name: "drain",
  initialState: { n: -1 },
  timeoutMs: 600_000,
  tasks: { work: (_agent, n: number) => handled(n) },
  callable: {
    async fill(agent, first: number, end: number) {
      const queued = Array.from({ length: end - first }, (_, at) =>
        agent.queue("work", first + at),
      );
      await Promise.all(queued);
    },
  },
  async onEvent(agent, event) {
    const { n } = event.payload as { n: number };
    if (what === "states") await agent.setState({ n });
    await handled(n);
  },
});
const app = webhooks({
  platform,
  sources: { shop: { scheme: "generic", secret, agent: "drain", respond: "queued" } },
});
agents({ platform, auth: "off", agents: [drain] });

await fill(-1, 0);
await waits;
await fill(0, count);
const [began, cpu] = [performance.now(), process.cpuUsage()];
release();
await all;
const ms = performance.now() - began;
const { system, user } = process.cpuUsage(cpu);
process.stdout.write(`${JSON.stringify({ ms, cpuUs: system + user })}\n`);
await platform.close();
rmSync(dataDir, { recursive: true, force: true });
process.exit(0);

async function fill(first: number, end: number): Promise<void> {
  for (let n = first; n < end; n += AT_A_TIME) {
    const next = Math.min(n + AT_A_TIME, end);
    if (what === "tasks") await getAgentByName(platform, drain, "one").fill(n, next);
    else await Promise.all(Array.from({ length: next - n }, (_, at) => deliver(n + at)));
  }
}

async function deliver(n: number): Promise<void> {
  const body = JSON.stringify({ event_id: `e${n}`, type: "counted", n });
  const signature = `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const headers = { "x-signature": signature, "content-type": "application/json" };
  const request = new Request("http://bench/shop/one", { method: "POST", body, headers });
  const { status } = await app.fetch(request);
  if (status !== 202) throw new Error(`An event was answered ${status}`);
}

/** The platform of the runtime that this runs on. The adapters' types would each bring globals of their runtime along. */
async function open(folder: string): Promise<Platform> {
  const name = typeof Deno !== "undefined" ? "deno" : typeof Bun !== "undefined" ? "bun" : "node";
  const adapter = (await import(`../../adapters/${name}/mod.ts`)) as Readonly<
    Record<string, (options: object) => Promise<Platform>>
  >;
  const make = adapter[`${name}Platform`];
  if (make === undefined) throw new Error(`No platform for ${name}`);
  return make({ dataDir: folder, log: () => undefined });
}
