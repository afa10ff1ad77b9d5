// One life of a server whose events are replayed: RUNTIME DATA_DIR WHAT. `fill` stores events, `events` and
// `dead-letters` ask for a replay of all; anything else goes on with what is stored. Prints `run` for each replayed run.
import { writeSync } from "node:fs";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { agents, defineAgent, NonRetryableError } from "../../core/agents/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { webhooks, webhooksManagement } from "../../core/webhooks/mod.ts";
import { SECRET as secret, signedRequest } from "../fakes/webhooks-sender.ts";

const [runtime = "node", dataDir = "", what = ""] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const worker = defineAgent({
  name: "replayed",
  schema: [
    "CREATE TABLE IF NOT EXISTS replayed_runs (actor TEXT, id TEXT, job TEXT, attempt INTEGER, again INTEGER)",
  ],
  async onEvent(agent, event, run) {
    const { isDoomed } = event.payload as { isDoomed: boolean };
    await agent.sql`INSERT INTO replayed_runs (actor, id, job, attempt, again)
      VALUES (${agent.key}, ${event.id}, ${run.job}, ${run.attempt}, ${Number(run.isReplay)})`;
    if (run.isReplay) tell("run");
    if (isDoomed) throw new NonRetryableError("given up");
  },
});
const one = { scheme: "generic", secret, agent: "replayed", respond: "queued" } as const;
const options = { platform, auth: "off", sources: { one } } as const;
const app = webhooks(options);
agents({ platform, auth: "off", agents: [worker] });
const management = webhooksManagement(options);
tell("ready");

async function post(entity: string, id: string, isDoomed: boolean): Promise<void> {
  const request = await signedRequest(`/one/${entity}`, { event_id: id, type: "t", isDoomed });
  const { status } = await app.fetch(request);
  if (status !== 202) throw new Error(`Answered ${status}`);
}

async function replay(of: string): Promise<void> {
  const url = "http://causey.test/accounts/local/webhooks/replays";
  const init = { method: "POST", body: JSON.stringify({ of }) };
  const { status } = await management.fetch(new Request(url, init));
  if (status !== 202) throw new Error(`Answered ${status}`);
}

if (what === "fill") {
  for (let n = 0; n < 150; n++)
    for (const entity of ["a", "b", "c"]) await post(entity, `e${n}`, n % 5 === 0);
  tell("stored");
  await platform.system.sleep(3_600_000);
}
if (what === "events" || what === "dead-letters") await replay(what);
await platform.system.sleep(3_600_000);
