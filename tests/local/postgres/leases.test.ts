import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import { migrateTables } from "../../../adapters/postgres/schema.ts";
import { databaseTime } from "../../../adapters/postgres/slots/database-time.ts";
import {
  type ClusterNode,
  leaseStore,
  type LeaseStore,
} from "../../../adapters/postgres/slots/lease-store.ts";
import {
  openLeases,
  type Leases,
  type LeasesOptions,
} from "../../../adapters/postgres/slots/leases.ts";
import { fairShares, giftsOf } from "../../../adapters/postgres/slots/shares.ts";
import { SLOTS, slotOf } from "../../../adapters/postgres/slot-of.ts";
import type { ActorKind, Sql } from "../../../core/ports.ts";
import { eventually } from "../../cases/eventually.ts";
import { freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const LEASE_MS = 1000;

const lacks = await lacksPostgres();
let db: PostgresDatabase;
let opened: Joined[] = [];
beforeAll(async () => {
  if (lacks !== undefined) return;
  db = await openPostgres({ url: await freshDatabase(), log: () => undefined });
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterEach(async () => {
  for (const one of opened) one.goOn();
  for (const one of opened) await one.leases.close(0);
  opened = [];
});
afterAll(async () => {
  if (lacks === undefined) await db.close();
});

const ignore = (): void => undefined;

function storeOf(
  node: ClusterNode,
  leaseMs: number,
  sql: Pick<Sql, "all"> = db.sqlOf(""),
): LeaseStore {
  return leaseStore(sql, node, leaseMs, databaseTime(Date.now, ignore));
}

interface Joined {
  readonly id: string;
  readonly leases: Leases;
  readonly dropped: number[];
  /** From now on nothing that it asks of the database is done, until it goes on. */
  stand(): void;
  goOn(): void;
}

/** A node that can be made to stand still. */
async function joined(id: string): Promise<Joined> {
  let gate = Promise.resolve();
  let open = (): void => undefined;
  const node = { id, address: `${id}:1`, version: "1", machine: "one" };
  const store = storeOf(node, LEASE_MS);
  const gated: LeasesOptions["store"] = {
    renew: () => gate.then(() => store.renew()),
    slots: () => gate.then(() => store.slots()),
    claim: (count) => gate.then(() => store.claim(count)),
    give: (slots, to) => gate.then(() => store.give(slots, to)),
    leave: () => gate.then(() => store.leave()),
  };
  const dropped: number[] = [];
  const leases = await openLeases({
    node,
    store: gated,
    log: () => undefined,
    leaseMs: LEASE_MS,
    drop: async (slots) => void dropped.push(...slots),
    onChange: () => undefined,
    onNode: () => undefined,
    onRefused: () => undefined,
  });
  const one: Joined = {
    id,
    leases,
    dropped,
    stand() {
      gate = new Promise((resolve) => (open = resolve));
    },
    goOn: () => {
      open();
    },
  };
  opened.push(one);
  return one;
}

const all = Array.from({ length: SLOTS }, (_, slot) => slot);
const ownOf = ({ leases }: Joined): number[] => all.filter((slot) => leases.isOwn(slot));

describe("the leases of nodes", () => {
  it("are divided fairly, and each slot has one node", async () => {
    const [a, b, c] = [await joined("a"), await joined("b"), await joined("c")];
    const sizes = (): number[] => [a, b, c].map((one) => ownOf(one).length);
    await eventually(
      () => String(sizes()) === "342,341,341",
      () => `fair shares: ${String(sizes())}`,
    );
    expect(new Set([a, b, c].flatMap(ownOf)).size).toBe(SLOTS);
    const slot = ownOf(c)[0]!;
    await Promise.all(Array.from({ length: 5 }, () => a.leases.refresh()));
    expect(a.leases.ownerOf(slot)).toEqual({
      id: "c",
      address: "c:1",
      version: "1",
      machine: "one",
    });
    // A clean end needs no lease to run out.
    await c.leases.close(1000);
    opened = [a, b];
    await eventually(() => ownOf(a).length + ownOf(b).length === SLOTS, "the others have all");
  });

  it("end for a node that stands still: it answers nothing, and may not write", async () => {
    const a = await joined("a");
    const fence = a.leases.fenceOf(7);
    const write = (): Promise<unknown> =>
      db.sqlOf("x", fence).batch([{ sql: "UPDATE causey_clock SET wall = wall WHERE id = 1" }]);
    await write();
    const b = await joined("b");
    await eventually(() => ownOf(b).length === SLOTS / 2, "b has its share");
    const kept = ownOf(a);
    const kinds = kept.map((slot) => a.leases.fenceOf(slot));
    // On a busy machine it may notice its end at once, or only as it goes on.
    a.dropped.length = 0;
    a.stand();
    await eventually(() => ownOf(a).length === 0, "its own lease has run out");
    await eventually(() => ownOf(b).length === SLOTS, "b has taken over");
    for (const old of kinds.slice(0, 3))
      await expect(
        db.sqlOf("x", old).batch([{ sql: "UPDATE causey_clock SET wall = wall WHERE id = 1" }]),
      ).rejects.toMatchObject({ reason: "fenced" });
    a.goOn();
    await eventually(() => ownOf(a).length === SLOTS / 2, "a has a share again");
    // It has dropped what it had in memory before it answers for any of it again.
    expect(a.dropped.toSorted((x, y) => x - y)).toEqual(kept);
  });

  it("go on for a node that was slow while no other took its slots", async () => {
    const a = await joined("a");
    const fence = a.leases.fenceOf(1);
    a.stand();
    await eventually(() => ownOf(a).length === 0, "its lease has run out");
    a.goOn();
    await eventually(() => ownOf(a).length === SLOTS, "it is renewed");
    expect([a.dropped, a.leases.fenceOf(1)]).toEqual([[], fence]);
  });
});

describe("a lease that ran out while its renewal was on the way", () => {
  it("is renewed after the claim that began before, so that its node hears of it", async () => {
    const [late, other] = ["late", "other"].map((id) => ({
      id,
      address: id,
      version: "1",
      machine: "one",
    }));
    const renewing = storeOf(late!, 1);
    await renewing.renew();
    await renewing.claim(1);
    await eventually(async () => (await renewing.renew()).nodes.length === 0, "it has run out");
    let owners: Promise<(string | null)[]> | undefined;
    await db.session(async (session) => {
      const claiming = storeOf(other!, LEASE_MS, session);
      await claiming.renew();
      await claiming.claim(SLOTS);
      const goesOn = storeOf(late!, LEASE_MS);
      let isRenewed = false;
      owners = goesOn.renew().then(async () => {
        isRenewed = true;
        return (await goesOn.slots()).map(({ owner }) => owner);
      });
      await eventually(async () => {
        const waits = "SELECT 1 AS one FROM pg_locks WHERE NOT granted";
        return isRenewed || (await db.sqlOf("").all(waits)).length > 0;
      }, "it is renewed, or waits");
      if (isRenewed) await owners;
    });
    expect(new Set(await owners)).toEqual(new Set(["other"]));
    await renewing.leave();
    await storeOf(other!, LEASE_MS).leave();
  });

  it("does not begin again once the tables have a step that its node does not know", async () => {
    const late = { id: "late", address: "late", version: "1", machine: "one" };
    const lives = "SELECT 1 AS one FROM causey_nodes WHERE id = 'late' AND expires > now()";
    const known: ActorKind = {
      name: "known",
      schema: ["CREATE TABLE t_known (n TEXT)"],
      start: () => ({ methods: {} }),
    };
    await migrateTables(db.session, known, late.id);
    await storeOf(late, 1).renew();
    await eventually(async () => (await db.sqlOf("").all(lives)).length === 0, "it has run out");
    const changed = [...known.schema, "ALTER TABLE t_known RENAME COLUMN n TO m"];
    await migrateTables(db.session, { ...known, schema: changed }, "next");
    const store = storeOf(late, LEASE_MS);
    await expect(store.renew()).rejects.toThrow(
      /"known" at schema step 2 and this version .* knows 1: start causey .* or newer/u,
    );
    expect(await db.sqlOf("").all(lives)).toEqual([]);
    await store.refuse("too old");
    await store.leave();
    const refusals = "SELECT refusal FROM causey_nodes WHERE id = 'late'";
    expect(await db.sqlOf("").all(refusals)).toEqual([{ refusal: "too old" }]);
    expect(await db.sqlOf("").all("SELECT * FROM causey_node_steps WHERE node = 'late'")).toEqual(
      [],
    );
  });

  it("does not hold before the node knows which slots others have taken", async () => {
    const node = { id: "a", address: "a:1", version: "1", machine: "one" };
    const held = Promise.withResolvers<void>();
    const read = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    let isOpen = false;
    let isTaken = false;
    // The renewal is held back from when it was sent at a time from which its lease would last.
    const isLate = (): boolean => performance.now() > began + LEASE_MS / 2;
    const store: LeasesOptions["store"] = {
      renew: async () => {
        if (isOpen && !isTaken && isLate()) {
          isTaken = true;
          await held.promise;
        }
        return { nodes: [node], changes: isTaken ? 2 : 1 };
      },
      slots: async () => {
        if (isTaken) {
          taken.resolve();
          await read.promise;
        }
        return [{ slot: 7, owner: isTaken ? "b" : "a", epoch: isTaken ? 2 : 1 }];
      },
      claim: () => Promise.resolve(),
      give: () => Promise.resolve(),
      leave: () => Promise.resolve(),
    };
    const began = performance.now();
    const leases = await openLeases({
      node,
      store,
      log: ignore,
      leaseMs: LEASE_MS,
      drop: () => Promise.resolve(),
      onChange: ignore,
      onNode: ignore,
      onRefused: ignore,
    });
    isOpen = true;
    await eventually(() => isTaken && !leases.isValid(), "the lease has run out");
    held.resolve();
    await taken.promise;
    const answers = leases.isOwn(7);
    read.resolve();
    await eventually(() => leases.isValid(), "the lease holds again");
    await leases.close(0);
    expect([answers, leases.isOwn(7)]).toEqual([false, false]);
  });
});

describe("fairShares()", () => {
  it("gives each the same, and the first ones what is left", () => {
    expect(Object.fromEntries(fairShares(["c", "a", "b"], 1024))).toEqual({
      a: 342,
      b: 341,
      c: 341,
    });
  });

  it("has nodes give what they have too much to those that have too little", () => {
    const shares = fairShares(["a", "b", "c"], 9);
    const counts = new Map(Object.entries({ a: 6, b: 1, c: 2 }));
    expect(giftsOf([1, 2, 3, 4], shares, counts)).toEqual([
      { to: "b", slots: [1, 2] },
      { to: "c", slots: [3] },
    ]);
  });
});

describe("slotOf()", () => {
  it("is fixed: nodes of all versions divide the same slots", () => {
    expect([slotOf("agent", "one"), slotOf("gateway", "ü"), slotOf("", "")]).toEqual([
      874, 261, 287,
    ]);
  });

  it("spreads names evenly", () => {
    const counts = new Map<number, number>();
    for (let n = 0; n < 100 * SLOTS; n++) {
      const slot = slotOf("agent", `name-${n}`);
      counts.set(slot, (counts.get(slot) ?? 0) + 1);
    }
    expect(counts.size).toBe(SLOTS);
    expect(Math.max(...counts.values())).toBeLessThan(160);
  });
});
