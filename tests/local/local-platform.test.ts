import { existsSync, mkdtempSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import {
  localActors,
  type LocalActors,
  type LocalActorsOptions,
} from "../../adapters/shared/actors/local-actors.ts";
import { localPlatform, type LocalRuntime } from "../../adapters/shared/local-platform.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { sqliteStore } from "../../adapters/shared/sqlite/sqlite-store.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import type { SchemaStep } from "../../core/sql/schema-step.ts";
import type { Config } from "../../core/config/config.ts";
import type { ActorContext, ActorKind } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";

const quiet = (): void => undefined;
const folder = mkdtempSync(join(inject("scratch"), "local-"));

const runtime: LocalRuntime = {
  name: "node",
  upgrade: () => null,
  clientAddress: () => null,
  transport: { send: () => Promise.reject(new Error("Not used")) },
};

function actorsOver(db: SqliteDatabase, options: Partial<LocalActorsOptions> = {}): LocalActors {
  const system = localSystem(quiet);
  return localActors({
    store: sqliteStore({ db, system, log: quiet }),
    system,
    log: quiet,
    upgrade: () => null,
    ...options,
  });
}

function ringing(name: string, rang: string[]): ActorKind {
  return {
    name,
    schema: [],
    start: (context: ActorContext) => ({
      methods: { alarm: (at: number) => context.alarm(at).then(() => null) },
      async onAlarm() {
        rang.push(`${name} ${context.name}`);
      },
    }),
  };
}

describe("local actors", () => {
  it("calls above the mailbox's bound are 503 and the others run", async () => {
    const db = openSqlite(":memory:");
    const actors = actorsOver(db, { mailboxSize: 3 });
    actors.define({ name: "k", schema: [], start: () => ({ methods: { one: () => 1 } }) });
    const calls = Array.from({ length: 5 }, () => actors.get("k", "a").call("one"));
    const settled = await Promise.allSettled(calls);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(3);
    expect(settled[4]).toMatchObject({ reason: { status: 503 } });
    expect(await actors.get("k", "a").call("one")).toBe(1);
    await actors.close(100);
    await db.close();
  });

  it("an actor that could not start is started again by the next call", async () => {
    const db = openSqlite(":memory:");
    const actors = actorsOver(db);
    let tries = 0;
    const start: ActorKind["start"] = () => {
      tries += 1;
      if (tries === 1) throw new Error("Not yet");
      return { methods: { tries: () => tries } };
    };
    actors.define({ name: "k", schema: [], start });
    await expect(actors.get("k", "a").call("tries")).rejects.toThrow("Not yet");
    expect(await actors.get("k", "a").call("tries")).toBe(2);
    await actors.close(100);
    await db.close();
  });

  it("the alarm of a kind that is not defined waits until it is", async () => {
    const path = join(folder, "undefined-kind.db");
    const rang: string[] = [];
    const first = openSqlite(path);
    const before = actorsOver(first);
    before.define(ringing("late", rang));
    await before.get("late", "a").call("alarm", Date.now() + 3_600_000);
    await before.close(100);
    await first.batch([{ sql: "UPDATE causey_alarms SET at = ?", params: [Date.now() - 1] }]);
    await first.close();

    const second = openSqlite(path);
    const after = actorsOver(second);
    after.define(ringing("other", rang));
    await after.get("other", "b").call("alarm", Date.now());
    await eventually(() => rang.length === 1, "the other kind's alarm rings");
    expect(rang).toEqual(["other b"]);
    after.define(ringing("late", rang));
    await eventually(() => rang.length === 2, "the late kind's alarm rings");
    expect(rang).toEqual(["other b", "late a"]);
    await after.close(100);
    await second.close();
  });

  it("an alarm that the clock jumped over is found by the next look at the table", async () => {
    const db = openSqlite(":memory:");
    const rang: string[] = [];
    const actors = actorsOver(db, { rescanMs: 50 });
    actors.define(ringing("k", rang));
    await actors.get("k", "a").call("alarm", Date.now() + 3_600_000);
    // To the timer an hour is an hour; to the wall clock it is over.
    await db.batch([{ sql: "UPDATE causey_alarms SET at = ?", params: [Date.now() - 1] }]);
    // The row goes after the alarm rang.
    await eventually(
      async () => (await db.all("SELECT * FROM causey_alarms")).length === 0,
      "it rang",
    );
    expect(rang).toEqual(["k a"]);
    await actors.close(100);
    await db.close();
  });

  it("many alarms due at once each ring once", async () => {
    const db = openSqlite(":memory:");
    const rang: string[] = [];
    const actors = actorsOver(db);
    actors.define(ringing("k", rang));
    const at = Date.now() + 50;
    const names = Array.from({ length: 1000 }, (_, i) => String(i));
    await Promise.all(names.map((name) => actors.get("k", name).call("alarm", at)));
    await eventually(
      async () => (await db.all("SELECT * FROM causey_alarms")).length === 0,
      "all rang",
    );
    expect(rang.toSorted()).toEqual(names.map((name) => `k ${name}`).toSorted());
    await actors.close(100);
    await db.close();
  });

  it("schema steps run once each, and a database of a newer version is refused", async () => {
    const path = join(folder, "schema.db");
    const kind = (schema: SchemaStep[]): ActorKind => ({
      name: "k",
      schema,
      start: () => ({ methods: {} }),
    });
    const steps = [
      "CREATE TABLE k_a (actor TEXT)",
      "ALTER TABLE k_a ADD COLUMN n INTEGER; CREATE TABLE k_b (actor TEXT)",
    ];
    for (const count of [1, 2, 2]) {
      const db = openSqlite(path);
      actorsOver(db).define(kind(steps.slice(0, count)));
      await db.close();
    }
    const db = openSqlite(path);
    expect(await db.all("SELECT n FROM k_a")).toEqual([]);
    expect(() => {
      actorsOver(db).define(kind(steps.slice(0, 1)));
    }).toThrow("schema step 2");
    const marked = kind([...steps, { additive: "ALTER TABLE k_b ADD COLUMN more TEXT" }]);
    actorsOver(db).define(marked);
    expect(await db.all("SELECT more FROM k_b")).toEqual([]);
    // The version before works on it; the one before that does not.
    actorsOver(db).define(kind(steps));
    expect(() => {
      actorsOver(db).define(kind(steps.slice(0, 1)));
    }).toThrow(/schema step 2 .* knows 1: start causey .* or newer/u);
    const broken = kind([...steps, "SELECT 1", "CREATE TABLE k_c (actor TEXT)", "NOT SQL"]);
    expect(() => {
      actorsOver(db).define(broken);
    }).toThrow("NOT SQL");
    await expect(db.all("SELECT * FROM k_c")).rejects.toThrow("k_c");
    await db.close();
  });

  it("close() waits for calls under way and then refuses", async () => {
    const db = openSqlite(":memory:");
    const actors = actorsOver(db);
    const system = localSystem(quiet);
    const slow = { methods: { slow: () => system.sleep(100).then(() => "done") } };
    actors.define({ name: "k", schema: [], start: () => slow });
    const call = actors.get("k", "a").call("slow");
    await actors.close(5000);
    expect(await call).toBe("done");
    await expect(actors.get("k", "a").call("slow")).rejects.toMatchObject({ status: 503 });
    await db.close();
  });
});

describe("localPlatform()", () => {
  it("keeps its folder to itself: other users and other platforms stay out", async () => {
    const dataDir = join(folder, "mine");
    const platform = await localPlatform(runtime, { dataDir, log: quiet });
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
    let isOpen = false;
    const second = localPlatform(runtime, { dataDir, log: quiet }).then((opened) => {
      isOpen = true;
      return opened;
    });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(isOpen).toBe(false);
    await platform.close();
    await (await second).close();
  });

  it("close() waits for background work", async () => {
    const platform = await localPlatform(runtime, { dataDir: ":memory:", log: quiet });
    let isDone = false;
    const work = platform.system.sleep(100).then(() => {
      isDone = true;
    });
    platform.system.waitUntil(work);
    await platform.close();
    expect(isDone).toBe(true);
  });
});

it("an address of a browser that is none is not shown: it may hold a token", async () => {
  const dataDir = mkdtempSync(join(folder, "endpoint-"));
  const platform = await localPlatform(runtime, {
    dataDir,
    log: quiet,
    browserEndpoint: "browser.example?token=5ecret",
  });
  expect(platform.capabilities.browser).toBe("The address of the remote browser is not a URL");
  await platform.close();
});

describe("the platform of a configuration", () => {
  it("takes the settings of the configuration, and an option that says otherwise", async () => {
    const dataDir = join(folder, "configured");
    const config: Config = {
      dataDir,
      log: "off",
      bodyBytes: 2 ** 21,
      rendering: { endpoint: "ws://127.0.0.1:9" },
    };
    const platform = await localPlatform(runtime, { config });
    try {
      expect(existsSync(join(dataDir, "causey.db"))).toBe(true);
      expect(await platform.browser.describe?.()).toContain("127.0.0.1:9");
      expect(platform.bodies?.capacity).toBe(2 ** 21);
    } finally {
      await platform.close();
    }
    const own = join(folder, "own");
    const other = await localPlatform(runtime, { config, dataDir: own });
    await other.close();
    expect(existsSync(join(own, "causey.db"))).toBe(true);
  });
});
