import { afterEach, describe, expect, it } from "vitest";
import { alarmSlots } from "../../adapters/shared/actors/alarm-slots.ts";
import { alarms } from "../../adapters/shared/actors/alarms.ts";
import {
  localActors,
  type ActorHomes,
  type LocalActors,
} from "../../adapters/shared/actors/local-actors.ts";
import { alarmTable } from "../../adapters/shared/sql/alarm-rows.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { sqliteStore } from "../../adapters/shared/sqlite/sqlite-store.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { agents, defineAgent, type Agent } from "../../core/agents/mod.ts";
import type { ActorKind, Platform } from "../../core/ports.ts";
import { healthOf, healthRoutes } from "../../core/signals/health.ts";
import { eventually } from "../cases/eventually.ts";
import { fakePlatform } from "../fakes/auth-platform.ts";

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Opened {
  readonly actors: LocalActors;
  readonly platform: Platform;
  readonly lines: string[];
}

/** Actors over a database, as a process that starts has them. */
function open(db: SqliteDatabase, homes?: ActorHomes): Opened {
  const lines: string[] = [];
  const log: Platform["log"] = (level, message) => void lines.push(`${level}: ${message}`);
  const system = localSystem(log);
  const actors = localActors({
    store: sqliteStore({ db, system, log }),
    system,
    log,
    upgrade: () => null,
    rescanMs: 20,
    homes,
  });
  closing.unshift(() => actors.close(1000));
  return { actors, lines, platform: { ...fakePlatform({ now: 0 }), actors, system, log } };
}

function database(): SqliteDatabase {
  const db = openSqlite(":memory:");
  closing.push(() => db.close());
  return db;
}

/** A kind that notes the alarms that go off. */
function ringing(name: string): { readonly kind: ActorKind; readonly rung: string[] } {
  const rung: string[] = [];
  const start: ActorKind["start"] = (context) => ({
    methods: { alarm: (at: number) => context.alarm(at).then(() => null) },
    onAlarm: async () => void rung.push(context.name),
  });
  return { kind: { name, schema: [], start }, rung };
}

describe("an alarm that is set while the alarms are read", () => {
  it("is read at its time, even if it is the only one", async () => {
    const { promise, resolve } = Promise.withResolvers<[]>();
    const slots = alarmSlots(alarmTable({ all: () => promise }));
    const taken = slots.take(["k"], () => 0);
    slots.look("k", 50);
    resolve([]);
    expect(await taken).toEqual({ rows: [], next: 50 });
  });
});

describe("alarms that an earlier version has stored", () => {
  it("go off now where no date has their time, and are told of; the others go off as ever", async () => {
    const db = database();
    const first = open(db);
    await first.actors.close(0);
    for (const [actor, at] of [
      ["far", 1e16],
      ["farther", 9e18],
      ["before", -1e17],
      ["real", 1e300],
    ] as const)
      db.rows(
        "INSERT INTO causey_alarms (kind, actor, at, attempts, version) VALUES ('k', ?, ?, 0, 1)",
        [actor, at],
      );
    const { actors, lines } = open(db);
    const { kind, rung } = ringing("k");
    actors.define(kind);
    await actors.get("k", "usual").call("alarm", Date.now());
    await eventually(() => rung.length === 5, "all go off");
    expect(rung.toSorted()).toEqual(["before", "far", "farther", "real", "usual"]);
    expect(lines.filter((line) => line.includes("times that no date has"))).toHaveLength(1);
    // The row of an alarm goes after it has rung.
    await eventually(() => db.rows("SELECT * FROM causey_alarms").length === 0, "no alarm is left");
  });

  it("leave tasks and schedules that run, and others that wait for the last date that there is", async () => {
    const ran: string[] = [];
    const note = (_agent: Agent, what: string): void => void ran.push(what);
    const definition = defineAgent({
      name: "old",
      tasks: { note },
      onRequest: async (agent) =>
        Response.json([...(await agent.listSchedules()), ...(await agent.getQueues())]),
    });
    const db = database();
    const start = (): Opened => {
      const opened = open(db);
      agents({ platform: opened.platform, auth: "off", agents: [definition] });
      return opened;
    };
    const first = start();
    await first.actors.get("agent:old", "one").fetch(new Request("http://causey.test/"));
    await first.actors.close(1000);
    // As the version before stored it, and as old as its schema was.
    const schedule =
      "INSERT INTO agents_schedules (agent, id, task, payload, due, kind, rule) VALUES ('old/one', ?, 'note', ?, ?, ?, ?)";
    db.rows(schedule, ["never", '"never"', 1e16, "once", "delay"]);
    db.rows(schedule, ["every", '"every"', 1, "interval", "1e+300"]);
    db.rows(schedule, ["soon", '"soon"', 1, "once", "delay"]);
    // Dates and times of day were those of the machine's clock.
    const later = Date.parse("2999-01-01T00:00:00Z");
    db.rows(schedule, ["past", '"past"', Date.now() - 1000, "once", ""]);
    db.rows(schedule, ["later", '"later"', later, "once", ""]);
    const job =
      "INSERT INTO agents_jobs (agent, id, position, task, payload, attempt, due) VALUES ('old/one', ?, 1, 'note', ?, 0, ?)";
    db.rows(job, ["job", '"job"', 1e16]);
    db.rows("ALTER TABLE agents_events DROP COLUMN answer");
    db.rows("ALTER TABLE agents_schedules DROP COLUMN wall");
    db.rows("UPDATE causey_schema SET steps = steps - 5 WHERE kind = 'agents'");
    db.rows("INSERT INTO causey_alarms VALUES ('agent:old', 'old/one', 1e16, 0, 1)");
    db.rows("UPDATE causey_alarms SET actor = 'one'");
    const again = start();
    await eventually(() => ran.length === 3, "what is due runs");
    expect(ran.toSorted()).toEqual(["every", "past", "soon"]);
    let waiting: { id: string; due: number }[] = [];
    const ids = (): string => String(waiting.map(({ id }) => id).toSorted());
    // The row of a task goes after it has run.
    await eventually(
      async () => {
        const answer = await again.actors
          .get("agent:old", "one")
          .fetch(new Request("http://causey.test/"));
        waiting = (await answer.json()) as typeof waiting;
        return ids() === "every,job,later,never";
      },
      () => `the others wait: ${ids()}`,
    );
    expect(waiting.find(({ id }) => id === "later")?.due).toBe(later);
    for (const { due } of waiting) expect(new Date(due).getUTCFullYear()).toBeLessThan(10_000);
  });
});

describe("alarms that cannot be read", () => {
  it("make the server not ready, for a reason that it tells, until they can be read again", async () => {
    const db = database();
    const { actors, lines, platform } = open(db);
    const ready = { part: () => ({ status: "ready" as const }) };
    const routes = healthRoutes(platform, healthOf(platform, { rendering: ready, search: ready }));
    const { kind, rung } = ringing("k");
    actors.define(kind);
    const look = async () => {
      const response = await routes.fetch(new Request("http://causey.test/readyz"));
      return [response.status, ((await response.json()) as { reason?: string }).reason];
    };
    expect(await look()).toEqual([200, undefined]);
    db.exec("ALTER TABLE causey_alarms RENAME TO away");
    await eventually(async () => (await look())[0] === 503, "the server is not ready");
    expect((await look())[1]).toMatch(/^The alarms cannot be read: .*no such table/u);
    db.exec("ALTER TABLE away RENAME TO causey_alarms");
    await eventually(async () => (await look())[0] === 200, "the server is ready again");
    await actors.get("k", "a").call("alarm", Date.now());
    await eventually(() => rung.length === 1, "alarms go off again");
    expect(lines.filter((line) => line.includes("cannot be read"))).toHaveLength(1);
  });
});

describe("an alarm whose actor is at another process by now", () => {
  it("waits for that process, and rings here once the actor comes back", async () => {
    const state = { isHere: true };
    const away: ActorHomes = {
      get: (kind, name) => actors.here(kind, name),
      isHere: () => state.isHere,
    };
    const { actors } = open(database(), away);
    const { kind, rung } = ringing("k");
    actors.define(kind);
    // Before it is set: a busy machine may take longer than any time until it is due.
    state.isHere = false;
    await actors.get("k", "a").call("alarm", Date.now() + 50);
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(rung).toEqual([]);
    state.isHere = true;
    actors.rescan();
    await eventually(() => Promise.resolve(rung.length === 1), "the alarm rang");
  });
});

describe("the line of elapsed time", () => {
  it("is stored at once when the clock was set and at the end, else once a minute", async () => {
    const saved: number[] = [];
    let wasSet = false;
    const clock = {
      now: () => 0,
      wasSet: () => wasSet,
      save: (everyMs: number) => Promise.resolve(void saved.push(everyMs)),
    };
    const db = database();
    const store = {
      ...sqliteStore({ db, system: localSystem(() => undefined), log: () => undefined }),
      clock,
    };
    const running = alarms({
      store,
      log: () => undefined,
      timeOfDay: () => [],
      kinds: () => [],
      ring: () => Promise.resolve(true),
      rescanMs: 5,
    });
    await eventually(() => saved.includes(5), "the clock is looked at");
    wasSet = true;
    await eventually(() => saved.at(-1) === 0, "it is stored");
    wasSet = false;
    await eventually(() => saved.at(-1) === 5, "it rests again");
    running.stop();
    expect(saved.at(-1)).toBe(0);
  });
});
