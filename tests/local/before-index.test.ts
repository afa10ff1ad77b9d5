import { mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, inject, it } from "vitest";
import { openPlatform } from "#platform";
import { type LocalActors, localActors } from "../../adapters/shared/actors/local-actors.ts";
import { keepBeforeUpgrade } from "../../adapters/shared/sqlite/keep-before-upgrade.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { sqliteStore } from "../../adapters/shared/sqlite/sqlite-store.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { ActorKind } from "../../core/ports.ts";
import { agents, defineAgent } from "../../core/agents/mod.ts";
import { webhooksManagement } from "../../core/webhooks/mod.ts";
import { LONG, eventually } from "../cases/eventually.ts";
import { root } from "../config/shared.ts";
import { SECRET as secret } from "../fakes/webhooks-sender.ts";

const runs: string[] = [];
const worker = defineAgent({
  name: "old-worker",
  onEvent(_agent, event, run) {
    if ((event.payload as { mode: string }).mode === "failing") throw new Error("not now");
    runs.push(`${event.id}${run.isReplay ? " again" : ""}`);
  },
});

it(
  "a database of before the lists across entities opens, and its rows are found",
  LONG,
  async () => {
    const data = "before-index";
    const dataDir = join(inject("scratch"), data);
    mkdirSync(dataDir);
    const db = new DatabaseSync(join(dataDir, "causey.db"));
    db.exec(readFileSync(`${root}tests/local/before-index.sql`, "utf8"));
    db.close();

    const platform = await openPlatform({ data });
    const generic = { scheme: "generic", secret } as const;
    const sources = { one: { ...generic, agent: "old-worker" }, plain: generic };
    const keep = { maxEvents: null, maxAgeDays: null };
    const retention = { maxEvents: null, maxAgeMs: null };
    agents({
      platform,
      auth: "off",
      agents: [worker],
      retention,
    });
    const management = webhooksManagement({ platform, auth: "off", sources, retention: keep });
    const ask = async (
      path: string,
      init: RequestInit = {},
    ): Promise<Record<string, unknown>[]> => {
      const answer = await management.request(`/accounts/local/webhooks/${path}`, init);
      expect(answer.status).toBeLessThan(300);
      return ((await answer.json()) as { result: Record<string, unknown>[] }).result;
    };
    const names = (rows: readonly Record<string, unknown>[]): string =>
      rows
        .map(({ entity }) => String(entity))
        .toSorted()
        .join();

    // A request starts an entity, and it tells what it has.
    expect(await ask("events?source=one&entity=a")).toMatchObject([{ id: "e2" }, { id: "e1" }]);
    expect(await ask("events?source=one&entity=b")).toMatchObject([{ id: "e3" }]);
    expect(await ask("events?source=plain&entity=c")).toMatchObject([{ id: "e4" }]);
    await eventually(async () => names(await ask("entities")) === "a,b,c", "all are listed");
    await eventually(async () => names(await ask("failures")) === "b", "the failing event is");
    const dead = await ask("dead-letters");
    expect(dead).toMatchObject([{ entity: "a", event: "e2", source: "one", error: "given up" }]);

    const of = JSON.stringify({ of: "dead-letters", source: "one" });
    await ask("replays", { method: "POST", body: of });
    await eventually(() => runs.join() === "e2 again", "it has run again");
    await eventually(async () => (await ask("dead-letters")).length === 0, "none is left");
    await ask("replays", {
      method: "POST",
      body: JSON.stringify({ of: "events", entity: "a" }),
    });
    await eventually(() => runs.join() === "e2 again,e1 again,e2 again", "all have run again");
    await platform.close();

    // What the database was is kept, once: a later start finds nothing to change.
    const copies = (): string[] =>
      readdirSync(dataDir).filter((name) => name.startsWith("before-upgrade-"));
    const [copy = "", ...more] = copies();
    expect(more).toEqual([]);
    expect(statSync(join(dataDir, copy)).mode & 0o777).toBe(0o600);
    const kept = new DatabaseSync(join(dataDir, copy));
    const steps = kept.prepare("SELECT steps FROM causey_schema WHERE kind = 'agents'").get();
    expect(steps).toEqual({ steps: 14 });
    expect(kept.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    kept.close();
    const again = await openPlatform({ data });
    agents({ platform: again, auth: "off", agents: [worker], retention });
    await again.close();
    expect(copies()).toEqual([copy]);
  },
);

it("no table is changed where the database cannot be copied first", async () => {
  const kind = (steps: number): ActorKind => ({
    name: "kind",
    schema: ["CREATE TABLE one (n INTEGER)", "CREATE TABLE two (n INTEGER)"].slice(0, steps),
    start: () => Promise.reject(new Error("It is not started")),
  });
  const db = openSqlite(":memory:");
  const system = localSystem(() => undefined);
  const open = (): LocalActors =>
    localActors({
      store: sqliteStore({
        db,
        system,
        log: () => undefined,
        beforeUpgrade: () => {
          keepBeforeUpgrade(db, join(inject("scratch"), "nowhere"), () => undefined);
        },
      }),
      system,
      log: () => undefined,
      upgrade: () => null,
    });
  const actors = open();
  // A kind that is new changes no table that is there.
  actors.define(kind(1));
  await actors.close(0);
  const later = open();
  expect(() => later.define(kind(2))).toThrow(/cannot be copied before .*make room in/u);
  expect(db.rows("SELECT name FROM sqlite_master WHERE name IN ('one', 'two')")).toEqual([
    { name: "one" },
  ]);
  await later.close(0);
  await db.close();
});
