import { expect } from "vitest";
import { ApiError } from "../../core/http/api-error.ts";
import type { ActorContext, ActorKind, ActorRef, Platform, SqlRow } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { eventually } from "./eventually.ts";
import type { Suite } from "./suite.ts";

/** What the suite works on: platforms over the same data, as before and after a restart. */
export interface ActorsSubject {
  readonly platform: Platform;
  /** Opens the same data again; the first platform has to be closed before. */
  reopen(): Promise<Platform>;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const set = (context: ActorContext, key: string, value: string) => ({
  sql: "INSERT INTO t_facts (actor, key, value) VALUES (?, ?, ?) ON CONFLICT (actor, key) DO UPDATE SET value = excluded.value",
  params: [context.name, key, value],
});

async function facts(context: ActorContext): Promise<Record<string, string>> {
  const rows: SqlRow[] = await context.sql.all("SELECT key, value FROM t_facts WHERE actor = ?", [
    context.name,
  ]);
  return Object.fromEntries(rows.map((row) => [String(row["key"]), String(row["value"])]));
}

function start(context: ActorContext): ReturnType<ActorKind["start"]> {
  const started = context.system.id();
  let running = 0;
  let most = 0;
  const order: number[] = [];
  const add = async (key: string, text: string): Promise<void> => {
    const before = (await facts(context))[key] ?? "";
    await context.sql.batch([set(context, key, `${before}${text}`)]);
  };
  return {
    methods: {
      started: () => started,
      set: (key: string, value: string) =>
        context.sql.batch([set(context, key, value)]).then(() => null),
      facts: () => facts(context),
      async queued(n: number, ms: number) {
        running += 1;
        most = Math.max(most, running);
        await pause(ms);
        order.push(n);
        running -= 1;
        return { most, order: [...order] };
      },
      peek: () => running,
      echo: (...values: unknown[]) => values,
      fail: (how: string) => {
        if (how === "api")
          throw new ApiError("conflict", {
            message: "Taken",
            headers: { "x-a": "b" },
            details: { at: 1 },
          });
        if (how === "sql") throw new SqlError("busy", "Locked");
        throw new TypeError("Broken");
      },
      alarm: (at: number | null) => context.alarm(at).then(() => null),
      async alarmWith(at: number, fail: boolean) {
        const wrong = { sql: "INSERT INTO t_facts (actor) VALUES (?)", params: [context.name] };
        const results = await context.alarm(at, [
          set(context, "with", "yes"),
          ...(fail ? [wrong] : []),
        ]);
        return results.length;
      },
      mode: (mode: string) => add("mode", mode),
      askOther: (name: string) => context.actors.get(kind.name, name).call("facts"),
    },
    async fetch(request) {
      return new Response(`${context.name} ${request.method} ${await request.text()}`, {
        status: 201,
      });
    },
    async onAlarm() {
      const { mode = "", fired = "" } = await facts(context);
      await add("fired", "x");
      if (mode.startsWith("fail") && fired.length < 2) throw new Error("Not yet");
      if (mode.startsWith("again") && fired.length < 2) await context.alarm(context.system.now());
    },
  };
}

/** A kind over a table that it shares, and one of its own. */
function sharing(name: string, shared: readonly string[], schema: readonly string[]): ActorKind {
  return {
    name,
    shared: { name: "actors-suite-shared", steps: shared },
    schema,
    start: ({ sql }) => ({
      methods: { ask: async (query: string) => (await sql.all(query)).length },
    }),
  };
}

const kind: ActorKind = {
  name: "actors-suite",
  schema: [
    "CREATE TABLE t_facts (actor TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (actor, key))",
  ],
  interleaved: ["peek"],
  start,
};

/** A kind whose alarms take until they are released. */
function slowKind() {
  const gate = { isOpen: false };
  let running = 0;
  let done = 0;
  const slow: ActorKind = {
    name: "actors-suite-slow",
    schema: [],
    start: (context) => ({
      methods: { alarm: () => context.alarm(context.steady()).then(() => null) },
      async onAlarm() {
        running += 1;
        // Not one promise for all: on Workers it would be of another object's event.
        while (!gate.isOpen) await pause(200);
        done += 1;
      },
    }),
  };
  return {
    kind: slow,
    running: () => running,
    done: () => done,
    release: () => (gate.isOpen = true),
  };
}

function actor(platform: Platform, name: string): ActorRef {
  platform.actors.define(kind);
  return platform.actors.get(kind.name, name);
}

/** An actor whose alarm was cleared before it was due, however busy the machine is, and when that would have been. */
async function clearedInTime(platform: Platform): Promise<{ cleared: ActorRef; due: number }> {
  for (let ms = 100; ; ms *= 2) {
    const cleared = actor(platform, `cleared-${ms}`);
    const due = Date.now() + ms;
    await cleared.call("alarm", due);
    await cleared.call("alarm", null);
    if (Date.now() < due) return { cleared, due };
  }
}

const fired = async (ref: ActorRef): Promise<string> =>
  ((await ref.call("facts")) as Record<string, string>)["fired"] ?? "";

/** What every `Actors` shows. */
export const actorsSuite: Suite<ActorsSubject> = {
  port: "Actors",
  needs: "actors",
  cases: [
    {
      name: "a name has one home, and different names have different ones",
      async run({ platform }) {
        const same = await Promise.all(
          Array.from({ length: 10 }, () => actor(platform, "a").call("started")),
        );
        expect(new Set(same).size).toBe(1);
        expect(await actor(platform, "b").call("started")).not.toBe(same[0]);
      },
    },
    {
      name: "names may hold any text and do not mix",
      async run({ platform }) {
        const names = ["a/b", "a-b", "A/B", "ä 🐘", "..", "a\nb", "'; --", "x".repeat(200)];
        for (const name of names) await actor(platform, name).call("set", "me", name);
        for (const name of names)
          expect(await actor(platform, name).call("facts")).toEqual({ me: name });
      },
    },
    {
      name: "calls run one at a time, in the order in which they were made",
      async run({ platform }) {
        const ref = actor(platform, "a");
        const all = await Promise.all([30, 1, 10, 0, 5].map((ms, n) => ref.call("queued", n, ms)));
        expect(all.at(-1)).toEqual({ most: 1, order: [0, 1, 2, 3, 4] });
      },
    },
    {
      name: "an interleaved method runs while another call does",
      async run({ platform }) {
        const ref = actor(platform, "a");
        await ref.call("started");
        const slow = ref.call("queued", 0, 300);
        await eventually(
          async () => (await ref.call("peek")) === 1,
          "peek() sees the running call",
        );
        await slow;
        expect(await ref.call("peek")).toBe(0);
      },
    },
    {
      name: "plain values cross unchanged",
      async run({ platform }) {
        const values = [
          "Grüße",
          1.5,
          true,
          null,
          [1, [2]],
          { a: { b: [] } },
          new Uint8Array([0, 255]),
        ] as const;
        expect(await actor(platform, "a").call("echo", ...values)).toEqual(values);
      },
    },
    {
      name: "an ApiError and an SqlError cross unchanged, other errors with their name and message",
      async run({ platform }) {
        const ref = actor(platform, "a");
        const error = await ref.call("fail", "api").catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(ApiError);
        expect(error).toMatchObject({ kind: "conflict", status: 409, message: "Taken" });
        expect((error as ApiError).options).toMatchObject({
          headers: { "x-a": "b" },
          details: { at: 1 },
        });
        await expect(ref.call("fail", "type")).rejects.toMatchObject({
          name: "TypeError",
          message: "Broken",
        });
        const busy = await ref.call("fail", "sql").catch((thrown: unknown) => thrown);
        expect(busy).toBeInstanceOf(SqlError);
        expect(busy).toMatchObject({ reason: "busy", message: "Locked" });
        expect(await ref.call("echo", 1)).toEqual([1]);
      },
    },
    {
      name: "unknown methods, inherited ones and unknown kinds are refused",
      async run({ platform }) {
        await expect(actor(platform, "a").call("nothing")).rejects.toThrow("nothing");
        await expect(actor(platform, "a").call("toString")).rejects.toThrow("toString");
        await expect((async () => platform.actors.get("no-kind", "a").call("x"))()).rejects.toThrow(
          "no-kind",
        );
      },
    },
    {
      name: "fetch() reaches the actor and its answer comes back",
      async run({ platform }) {
        const request = new Request("http://actor.test/x", { method: "POST", body: "hello" });
        const response = await actor(platform, "a").fetch(request);
        expect([response.status, await response.text()]).toEqual([201, "a POST hello"]);
      },
    },
    {
      name: "define() takes the same object again and refuses another of the same name",
      async run({ platform }) {
        platform.actors.define(kind);
        platform.actors.define(kind);
        expect(() => platform.actors.define({ ...kind })).toThrow(kind.name);
      },
    },
    {
      name: "an actor reaches the others of its platform",
      async run({ platform }) {
        await actor(platform, "a").call("set", "k", "v");
        expect(await actor(platform, "b").call("askOther", "a")).toEqual({ k: "v" });
      },
    },
    {
      name: "shared tables and a kind's own are counted apart: both grow, and no step runs twice",
      restarts: true,
      async run({ platform, reopen }) {
        const shared = ["CREATE TABLE t_shared (actor TEXT)"];
        const more = [...shared, "ALTER TABLE t_shared ADD COLUMN n INTEGER"];
        const own = ["CREATE TABLE t_own (actor TEXT)"];
        platform.actors.define(sharing("sharing-a", shared, own));
        platform.actors.define(sharing("sharing-b", shared, []));
        expect(await platform.actors.get("sharing-a", "x").call("ask", "SELECT * FROM t_own")).toBe(
          0,
        );
        expect(
          await platform.actors.get("sharing-b", "x").call("ask", "SELECT * FROM t_shared"),
        ).toBe(0);
        await platform.close();
        const again = await reopen();
        const grown = [...own, "ALTER TABLE t_own ADD COLUMN m INTEGER"];
        again.actors.define(sharing("sharing-a", more, grown));
        again.actors.define(sharing("sharing-b", more, []));
        const query = "SELECT n, m FROM t_shared, t_own";
        expect(await again.actors.get("sharing-a", "x").call("ask", query)).toBe(0);
        expect(await again.actors.get("sharing-b", "x").call("ask", "SELECT n FROM t_shared")).toBe(
          0,
        );
        await again.close();
      },
    },
    {
      name: "rows survive a restart, memory does not",
      restarts: true,
      async run({ platform, reopen }) {
        const before = await actor(platform, "a").call("started");
        await actor(platform, "a").call("set", "k", "v");
        await platform.close();
        const again = await reopen();
        expect(await actor(again, "a").call("facts")).toEqual({ k: "v" });
        expect(await actor(again, "a").call("started")).not.toBe(before);
        await again.close();
      },
    },
    {
      name: "an alarm fires once",
      async run({ platform }) {
        const ref = actor(platform, "a");
        await ref.call("alarm", Date.now() + 30);
        await eventually(async () => (await fired(ref)) !== "", "the alarm fires");
        await pause(150);
        expect(await fired(ref)).toBe("x");
      },
    },
    {
      name: "an alarm set anew fires at the new time only, a cleared one never",
      async run({ platform }) {
        const moved = actor(platform, "moved");
        await moved.call("alarm", Date.now() + 60_000);
        await moved.call("alarm", Date.now() + 20);
        const { cleared, due } = await clearedInTime(platform);
        await eventually(async () => (await fired(moved)) === "x", "the moved alarm fires");
        await eventually(async () => Date.now() > due + 100, "the cleared one would have fired");
        expect([await fired(moved), await fired(cleared)]).toEqual(["x", ""]);
      },
    },
    {
      name: "an alarm set by an alarm fires too",
      async run({ platform }) {
        const ref = actor(platform, "a");
        await ref.call("mode", "again");
        await ref.call("alarm", Date.now());
        await eventually(async () => (await fired(ref)) === "xxx", "it fires three times");
        await pause(150);
        expect(await fired(ref)).toBe("xxx");
      },
    },
    {
      name: "an alarm that throws runs again until it does not",
      async run({ platform }) {
        const ref = actor(platform, "a");
        await ref.call("mode", "fail");
        await ref.call("alarm", Date.now());
        await eventually(async () => (await fired(ref)) === "xxx", "it runs three times");
        await pause(300);
        expect(await fired(ref)).toBe("xxx");
      },
    },
    {
      name: "alarm() and its statements are one transaction",
      async run({ platform }) {
        const ref = actor(platform, "a");
        await expect(ref.call("alarmWith", Date.now(), true)).rejects.toThrow();
        await pause(100);
        expect(await ref.call("facts")).toEqual({});
        expect(await ref.call("alarmWith", Date.now(), false)).toBe(1);
        await eventually(async () => (await fired(ref)) === "x", "the alarm fires");
        expect(await ref.call("facts")).toMatchObject({ with: "yes" });
      },
    },
    {
      name: "an alarm for a time that no date has keeps no other from going off",
      async run({ platform }) {
        for (const [n, at] of [1e16, 1e308, Infinity].entries())
          await actor(platform, `never-${n}`).call("alarm", at);
        const ref = actor(platform, "a");
        await ref.call("alarm", Date.now());
        await eventually(async () => (await fired(ref)) === "x", "the other alarm fires");
        expect(await fired(actor(platform, "never-0"))).toBe("");
        for (const at of [-1e308, Number.NaN]) {
          const early = actor(platform, `early${at}`);
          await early.call("alarm", at);
          await eventually(async () => (await fired(early)) === "x", `an alarm at ${at} fires`);
        }
      },
    },
    {
      name: "alarms of a kind that take their time keep those of another waiting for nothing",
      async run({ platform }) {
        const slow = slowKind();
        platform.actors.define(slow.kind);
        const names = Array.from({ length: 300 }, (_, n) => `slow-${n}`);
        const asked = names.map((name) => platform.actors.get(slow.kind.name, name).call("alarm"));
        await Promise.all(asked);
        await eventually(() => slow.running() >= 256, "the slow ones run");
        const ref = actor(platform, "a");
        await ref.call("alarm", Date.now());
        await eventually(async () => (await fired(ref)) === "x", "the other alarm fires");
        expect(slow.done()).toBe(0);
        slow.release();
        await eventually(() => slow.done() === 300, "the slow ones end");
      },
    },
    {
      name: "an alarm survives a restart",
      restarts: true,
      async run({ platform, reopen }) {
        await actor(platform, "a").call("alarm", Date.now() + 150);
        await platform.close();
        const again = await reopen();
        const ref = actor(again, "a");
        await eventually(
          async () => (await fired(ref)) === "x",
          "the alarm fires after the restart",
        );
        await again.close();
      },
    },
  ],
};
