import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { postgresStore } from "../../../adapters/postgres/postgres-store.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import { slotOf } from "../../../adapters/postgres/slot-of.ts";
import {
  detachedCalls,
  type DetachedCalls,
} from "../../../adapters/postgres/slots/detached-calls.ts";
import { routedActors } from "../../../adapters/postgres/slots/routed-actors.ts";
import { localSystem } from "../../../adapters/shared/system.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import type { ActorKind, ActorRef, DetachedContext, Plain } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const lacks = await lacksPostgres();
const silent = (): undefined => undefined;
const system = localSystem(silent);
let url = "";
let db: PostgresDatabase;
let opened: DetachedCalls[] = [];

const notes: ActorKind = {
  name: "notes",
  schema: ["CREATE TABLE t_notes (actor TEXT NOT NULL, text TEXT NOT NULL)"],
  start: () => ({ methods: {} }),
  detached: {
    methods: {
      async put({ name, write }: DetachedContext, text: string) {
        const sql = "INSERT INTO t_notes (actor, text) VALUES (?, ?)";
        const results = await write([{ sql, params: [name, text] }]);
        return results.map(({ changes }) => changes);
      },
    },
    followUp: "hear",
  },
};

beforeAll(async () => {
  if (lacks !== undefined) return;
  url = await freshDatabase();
  db = await openPostgres({ url, log: silent });
  await migrateTables(db.session, notes);
});
beforeEach(async ({ skip }) => {
  if (lacks !== undefined) skip(lacks);
  for (const one of opened) await one.stop();
  opened = [];
  await asAdmin(url, "DELETE FROM causey_news");
});
afterAll(async () => {
  for (const one of opened) await one.stop();
  system.end();
  if (lacks === undefined) await db.close();
});

/** The calls of a node that has these slots, or only believes so. */
async function callsOf(
  slots: readonly number[],
  hear: (name: string) => Promise<Plain>,
  holds = true,
): Promise<DetachedCalls> {
  const fence = { slot: 0, epoch: holds ? 0 : -1 };
  const ownSlots = () => slots;
  const store = await postgresStore({ db, system, log: silent, fenceOf: () => fence, ownSlots });
  const host = {
    here: (_: string, name: string): ActorRef => ({
      call: () => hear(name),
      fetch: () => Promise.reject(new Error("Nobody asks")),
    }),
  };
  const calls = detachedCalls({
    db,
    store,
    system,
    log: silent,
    ownSlots,
    ownNode: () => "one",
    host,
  });
  calls.define(notes);
  opened.push(calls);
  return calls;
}

const news = () => asAdmin(url, "SELECT actor, slot, version::int FROM causey_news ORDER BY actor");
const SLOT = slotOf("notes", "a");

describe("a call without its actor", () => {
  it("stores rows with the news of them, of which the actor hears where it is", async () => {
    const other = await callsOf([], () => Promise.reject(new Error("It has none")));
    expect(await other.of("notes", "a", "put")!(["one"])).toEqual([1]);
    expect(await other.of("notes", "a", "put")!(["two"])).toEqual([1]);
    expect(await news()).toEqual([{ actor: "a", slot: SLOT, version: 2 }]);
    const heard: string[] = [];
    await callsOf([SLOT], async (name) => void heard.push(name));
    await eventually(async () => (await news()).length === 0, "the actor has heard");
    expect(heard).toEqual(["a"]);
  });

  it("stores nothing once the tables have a step that its node does not know", async () => {
    const other = await callsOf([], () => Promise.reject(new Error("It has none")));
    const known: ActorKind = { ...notes, name: "known", schema: ["CREATE TABLE t_known (n TEXT)"] };
    await migrateTables(db.session, known, "one");
    await other.of("notes", "a", "put")!(["before"]);
    await asAdmin(url, "DELETE FROM causey_news; DELETE FROM t_notes");
    const changed = [...known.schema, "ALTER TABLE t_known RENAME COLUMN n TO m"];
    await migrateTables(db.session, { ...known, schema: changed }, "two");
    await expect(other.of("notes", "a", "put")!(["after"])).rejects.toMatchObject({
      reason: "fenced",
    });
    expect([await news(), await asAdmin(url, "SELECT * FROM t_notes")]).toEqual([[], []]);
    await asAdmin(url, "DELETE FROM causey_node_steps");
  });

  it("is heard of again if it comes while the actor takes over what was before", async () => {
    let heard = 0;
    const calls = await callsOf([SLOT], async () => {
      heard += 1;
      if (heard === 1) await calls.of("notes", "a", "put")!(["meanwhile"]);
    });
    await calls.of("notes", "a", "put")!(["first"]);
    await eventually(async () => (await news()).length === 0, "the actor has heard of all");
    expect(heard).toBe(2);
  });

  it("is still news when the actor fails, or is elsewhere by now", async () => {
    const other = await callsOf([], () => Promise.reject(new Error("It has none")));
    await other.of("notes", "a", "put")!(["kept"]);
    const told = new Set<string>();
    const failing = await callsOf([SLOT], () => {
      told.add("failing");
      return Promise.reject(new Error("It fails"));
    });
    const lost = await callsOf([SLOT], async () => void told.add("lost"), false);
    await eventually(() => told.size === 2, "both were told");
    await Promise.all([failing.stop(), lost.stop()]);
    expect(await news()).toHaveLength(1);
  });

  it("is heard of although another actor never answers, which is asked once", async () => {
    const other = await callsOf([], () => Promise.reject(new Error("It has none")));
    await other.of("notes", "silent", "put")!(["first"]);
    const heard: string[] = [];
    const answer = Promise.withResolvers<void>();
    const slots = [SLOT, slotOf("notes", "silent")];
    await callsOf(slots, async (name) => {
      heard.push(name);
      if (name === "silent") await answer.promise;
    });
    await eventually(() => heard.length === 1, "the silent one was told");
    await other.of("notes", "a", "put")!(["next"]);
    await eventually(() => heard.includes("a"), "the other one has heard");
    expect(heard).toEqual(["silent", "a"]);
    answer.resolve();
    await eventually(async () => (await news()).length === 0, "the silent one has heard at last");
  });

  it("is made for the methods that a kind names", async () => {
    const calls = await callsOf([], () => Promise.resolve(null));
    expect(calls.of("notes", "a", "hear")).toBeUndefined();
    expect(calls.of("notes", "a", "toString")).toBeUndefined();
    expect(calls.of("others", "a", "put")).toBeUndefined();
  });
});

describe("a call for an actor of another node", () => {
  const call = (
    theirs: () => Promise<Plain>,
    method = "put",
    own?: () => Promise<Plain>,
  ): Promise<Plain> => {
    const owner = { id: "b", address: "b:1", version: "1", machine: "one" };
    const { get } = routedActors({
      leases: () => ({
        isOwn: () => own !== undefined,
        ownerOf: () => owner,
        refresh: () => Promise.resolve(),
      }),
      failure: () => null,
      nodes: {
        to: () =>
          ({ call: theirs, fetch: () => Promise.reject(new Error("Nobody asks")) }) as never,
      },
      here: () => {
        if (own === undefined) throw new Error("Nothing is here");
        return { call: own, fetch: () => Promise.reject(new Error("Nobody asks")) };
      },
      detached: (_kind, _name, asked) => (asked === "put" ? async () => "made here" : undefined),
    });
    return get("notes", "a").call(method);
  };

  it("is theirs as long as they answer, with what they refuse", async () => {
    expect(await call(() => Promise.resolve("made there"))).toBe("made there");
    const refused = new ApiError("conflict", { message: "No" });
    await expect(call(() => Promise.reject(refused))).rejects.toBe(refused);
  });

  it("is made here when they end, and when they do not answer", async () => {
    expect(await call(() => Promise.reject(new ApiError("unavailable")))).toBe("made here");
    expect(await call(() => new Promise(silent))).toBe("made here");
    await expect(
      call(() => Promise.reject(new ApiError("unavailable")), "get"),
    ).rejects.toMatchObject({ status: 503 });
  });

  it("is made without the actor when it was this node's, and is not any more", async () => {
    const lost = (): Promise<Plain> => Promise.reject(new SqlError("fenced", "Not ours"));
    const theirs = (): Promise<Plain> => Promise.reject(new Error("Nobody asks"));
    expect(await call(theirs, "put", lost)).toBe("made here");
    await expect(call(theirs, "get", lost)).rejects.toMatchObject({ reason: "fenced" });
    const full = (): Promise<Plain> => Promise.reject(new SqlError("full", "No space"));
    await expect(call(theirs, "put", full)).rejects.toMatchObject({ reason: "full" });
  });
});
