import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { openPostgres } from "../../../adapters/postgres/open-postgres.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import { agentSchema } from "../../../core/agents/define/schema.ts";
import type { ActorKind } from "../../../core/ports.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, describeOnPostgres, freshDatabase } from "../../fakes/postgres.ts";
import { exitOf, missing, runtimes } from "../runtimes.ts";
import { sharingServer, webhook, type SharingServer } from "../sharing-servers.ts";

const LEASE_MS = 3000;
const table =
  "CREATE TABLE IF NOT EXISTS crash_done (actor TEXT NOT NULL, id TEXT NOT NULL, attempt INTEGER)";
/** The agent of `sharing-child.ts` in a version that renames a column. */
const nextWorker: ActorKind = {
  name: "agent:crash-worker",
  shared: { name: "agents", steps: agentSchema },
  schema: [table, "ALTER TABLE crash_done RENAME COLUMN attempt TO run"],
  start: () => ({ methods: {} }),
};

const folders: string[] = [];
const servers: SharingServer[] = [];
afterEach(() => {
  for (const { child } of servers.splice(0)) child.kill("SIGKILL");
  for (const one of folders.splice(0)) rmSync(one, { recursive: true, force: true });
});

const count = async (database: string, what: string): Promise<number> => {
  const [row] = await asAdmin(database, `SELECT COUNT(*)::int AS n FROM ${what}`);
  return Number(row?.["n"]);
};
const living = (database: string): Promise<number> =>
  count(database, "causey_nodes WHERE expires > now()");
const readiness = async (server: SharingServer): Promise<number> => {
  const answer = await server.ask("/readyz");
  await answer.body?.cancel();
  return answer.status;
};

/** Has a server stand still between two transactions: PostgreSQL keeps the locks of one for which a client is to send more. */
async function freeze({ child }: SharingServer, database: string): Promise<void> {
  const busy =
    "pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'";
  await eventually(async () => {
    child.kill("SIGSTOP");
    // What it has sent before is on the way.
    await new Promise((resolve) => setTimeout(resolve, 300));
    if ((await count(database, busy)) === 0) return true;
    child.kill("SIGCONT");
    return false;
  }, "it stands still with nothing open");
}

await describeOnPostgres("a server that stands still while its tables are changed", () => {
  for (const runtime of runtimes)
    it(
      `begins no lease, stores nothing and ends with 1 when it goes on, on ${runtime}`,
      LONG,
      async ({ skip }) => {
        const lacks = missing(runtime);
        if (lacks !== false) return skip(lacks);
        const database = await freshDatabase();
        const folder = mkdtempSync(join(tmpdir(), "causey-frozen-"));
        folders.push(folder);
        const server = await sharingServer(runtime, folder, [database, String(LEASE_MS)]);
        servers.push(server);
        await eventually(async () => (await readiness(server)) === 200, "it is ready");
        expect(await webhook(server, "worked", "a", "a-1")).toBe(202);
        await eventually(async () => (await count(database, "crash_done")) === 1, "it is handled");
        await eventually(
          async () => (await count(database, "causey_slots WHERE owner IS NOT NULL")) === 1024,
          "it has all slots",
        );
        await freeze(server, database);
        await eventually(async () => (await living(database)) === 0, "its lease is over");
        const db = await openPostgres({ url: database, log: () => undefined });
        await migrateTables(db.session, nextWorker, "the next version");
        await db.close();
        expect(await count(database, "causey_slots WHERE owner IS NOT NULL")).toBe(0);

        server.child.kill("SIGCONT");
        const late = Promise.allSettled(
          ["a", "b", "c"].map((entity) => webhook(server, "worked", entity, "late")),
        );
        expect(await exitOf(server.child)).toBe(1);
        // One whose connection came after the end has no answer.
        for (const answer of await late)
          if (answer.status === "fulfilled") expect(answer.value).toBeGreaterThanOrEqual(500);
        expect(await count(database, "agents_events")).toBe(1);
        expect(await living(database)).toBe(0);
        expect(await count(database, "causey_slots WHERE owner IS NOT NULL")).toBe(0);
        const [row] = await asAdmin(database, "SELECT refusal FROM causey_nodes");
        expect(row?.["refusal"]).toMatch(
          /"agent:crash-worker\/own" at schema step 2 and this version .* knows 1: start causey/u,
        );
      },
    );
});
