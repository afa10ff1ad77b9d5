import { afterEach, describe, expect, it } from "vitest";
import { localActors, type LocalActors } from "../../adapters/shared/actors/local-actors.ts";
import { openSqlite } from "../../adapters/shared/sqlite/open-sqlite.ts";
import { sqliteStore } from "../../adapters/shared/sqlite/sqlite-store.ts";
import type { SqliteDatabase } from "../../adapters/shared/sqlite/sqlite.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { agents, defineAgent, type Agent } from "../../core/agents/mod.ts";
import type { ActorRef, Plain, Platform, System } from "../../core/ports.ts";
import { eventually } from "../cases/eventually.ts";
import { fakePlatform } from "../fakes/auth-platform.ts";

const HOUR = 3_600_000;
const quiet = (): void => undefined;
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Station {
  readonly ref: ActorRef;
  readonly log: string[];
  /** Sets the machine's clock, by so many ms. */
  set(ms: number): void;
  /** Another process takes the place of this one. */
  restart(): Promise<void>;
  ask(path: string): Promise<Plain>;
}

/** Agents over a database and a clock that are in the test's hands; `at` is the time of day (UTC) at its start. */
function station(at: string, schedules: Record<string, string | number> = {}): Station {
  const real = localSystem(quiet);
  const start = Date.parse(`2026-03-05T${at}Z`);
  const origin = real.monotonic();
  let ahead = 0;
  const system: System = {
    ...real,
    now: () => Math.floor(start + real.monotonic() - origin + ahead),
  };
  const log: string[] = [];
  const note = (_agent: Agent, what: string): void => void log.push(what);
  const definition = defineAgent({
    name: "clocked",
    retry: { maxAttempts: 3, baseMs: 20, maxMs: 40 },
    schedules,
    tasks: {
      note,
      fails(_agent, _payload: null, run) {
        log.push(`attempt ${run.attempt}`);
        if (run.attempt < 3) throw new Error("not yet");
      },
      tick: () => void log.push("tick"),
    },
    async onRequest(agent, request) {
      const [, what = "", ms = ""] = new URL(request.url).pathname.split("/");
      if (what === "fails") await agent.queue("fails", null, { delaySeconds: Number(ms) / 1000 });
      if (what === "in") await agent.schedule(Number(ms) / 1000, "note", "in");
      if (what === "at") await agent.schedule(new Date(system.now() + Number(ms)), "note", "at");
      if (what === "every") await agent.scheduleEvery(Number(ms) / 1000, "note", "every");
      const dues = [...(await agent.listSchedules()), ...(await agent.getQueues())];
      return Response.json(dues.map(({ due }) => due - system.now()));
    },
  });
  const db: SqliteDatabase = openSqlite(":memory:");
  let actors: LocalActors;
  const open = (): void => {
    actors = localActors({
      store: sqliteStore({ db, system, log: quiet }),
      system,
      log: quiet,
      upgrade: () => null,
      rescanMs: 20,
    });
    const platform: Platform = { ...fakePlatform({ now: 0 }), actors, system };
    agents({ platform, auth: "off", agents: [definition] });
  };
  open();
  closing.push(async () => {
    await actors.close(1000);
    await db.close();
  });
  const ref: ActorRef = {
    call: (...args) => actors.get("agent:clocked", "one").call(...args),
    fetch: (request) => actors.get("agent:clocked", "one").fetch(request),
  };
  return {
    ref,
    log,
    set: (ms) => void (ahead += ms),
    async restart() {
      await actors.close(1000);
      open();
    },
    ask: async (path) => (await ref.fetch(new Request(`http://causey.test/${path}`))).json(),
  };
}

const until = (holds: () => boolean): Promise<void> => eventually(holds, "what is due has run");

const settle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));

describe.each([
  ["back", -HOUR],
  ["ahead", HOUR],
])("a clock that is set %s an hour", (_, jump) => {
  it("neither stalls nor repeats what is due after some time", async () => {
    const { ask, log, set } = station("12:00:00");
    await ask("fails/100");
    await ask("in/100");
    await ask("every/100");
    set(jump);
    const seen = (what: string): number => log.filter((line) => line === what).length;
    await until(() => seen("attempt 3") === 1 && seen("in") === 1 && seen("every") >= 3);
    set(-jump);
    const before = seen("every");
    await until(() => seen("every") >= before + 3);
    expect([seen("attempt 1"), seen("attempt 2"), seen("attempt 3"), seen("in")]).toEqual([
      1, 1, 1, 1,
    ]);
  });

  it("shows when something is due by the clock there is", async () => {
    const { ask, set } = station("12:00:00");
    await ask("in/600000");
    set(jump);
    await ask("every/300000");
    const [first, second] = (await ask("list")) as [number, number];
    expect(Math.abs(first - 300_000)).toBeLessThan(60_000);
    expect(Math.abs(second - 600_000)).toBeLessThan(60_000);
  });

  it("leaves nothing behind for the next process", async () => {
    const { ask, log, restart, set } = station("12:00:00");
    await ask("in/50");
    await restart();
    set(jump);
    await restart();
    await ask("in/60");
    await until(() => log.filter((line) => line === "in").length === 2);
  });
});

describe("times of day", () => {
  it("come when the clock is set past them, once, and not again when it is set right", async () => {
    const { ask, log, set } = station("12:30:00", { tick: "0 13 * * *" });
    await ask("at/1800000");
    set(HOUR);
    await until(() => log.includes("tick") && log.includes("at"));
    set(-HOUR + 1_795_000);
    await settle();
    expect(log.toSorted()).toEqual(["at", "tick"]);
    const [tick = 0] = (await ask("list")) as number[];
    expect(tick).toBeGreaterThan(12 * HOUR);
  });

  it("that come often go on when the clock is set back", async () => {
    const { ask, log, set } = station("12:30:00", { tick: "* * * * *" });
    const next = async (): Promise<number> => ((await ask("list")) as number[])[0] ?? 0;
    set((await next()) - 100);
    await until(() => log.length === 1);
    set(-HOUR);
    let due = await next();
    while (due > 60_000) {
      await settle();
      due = await next();
    }
    set(due - 100);
    await until(() => log.length >= 2);
  });

  it("wait for their own time when the clock is set back before it", async () => {
    const { ask, log, set } = station("12:00:00");
    await ask("at/60000");
    set(-HOUR);
    await settle();
    expect(log).toEqual([]);
    set(HOUR + 60_000);
    await until(() => log.includes("at"));
  });
});
