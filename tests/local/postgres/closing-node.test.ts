import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openPostgres, type PostgresDatabase } from "../../../adapters/postgres/open-postgres.ts";
import type { Cluster } from "../../../adapters/postgres/slots/cluster.ts";
import { slotOf } from "../../../adapters/postgres/slot-of.ts";
import type { ActorRef } from "../../../core/ports.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { openNode } from "../../fakes/cluster-node.ts";
import { freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";

const lacks = await lacksPostgres();
const silent = (): undefined => undefined;
let db: PostgresDatabase;

beforeAll(async () => {
  if (lacks === undefined) db = await openPostgres({ url: await freshDatabase(), log: silent });
});
beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});
afterAll(async () => {
  if (lacks === undefined) await db.close();
});

/** A node whose actors answer with its name; while `isHeld()`, something runs at them. */
async function joinedNode(
  name: string,
  isHeld: () => boolean = () => false,
  answer: Promise<string> = Promise.resolve(name),
): Promise<Cluster> {
  const here = (): ActorRef => ({
    call: () => answer,
    fetch: () => Promise.reject(new Error("Not asked")),
  });
  const node = await openNode(db, { host: { here, holds: isHeld } });
  node.join();
  return node;
}

describe("a node that closes", LONG, () => {
  it("waits for its calls that were sent back by another one", async () => {
    let isHeld = true;
    const closing = await joinedNode("closing");
    const giving = await joinedNode("giving", () => isHeld);
    await eventually(() => giving.ownSlots().length === 512, "both have their shares");
    const before = new Set(giving.ownSlots());
    // Its share goes to it when the actors are free, and calls are sent back until then.
    const joining = await joinedNode("joining");
    await eventually(() => giving.ownSlots().length < 512, "it gives some away");
    const left = new Set(giving.ownSlots());
    const names = Array.from({ length: 5000 }, (_, n) => `actor-${n}`).filter((name) => {
      const slot = slotOf("k", name);
      return before.has(slot) && !left.has(slot);
    });
    expect(names.length).toBeGreaterThan(10);
    const calls = names.map((name) => closing.get("k", name).call("m"));
    const answers = Promise.allSettled(calls);
    const closed = closing.close(10_000);
    setTimeout(() => (isHeld = false), 300);
    await closed;
    const isAnswered = (answer: PromiseSettledResult<unknown>): boolean =>
      answer.status === "fulfilled" && answer.value !== "closing";
    expect((await answers).filter((answer) => !isAnswered(answer))).toEqual([]);
    await Promise.all([giving.close(100), joining.close(100)]);
  });

  it("refuses calls afterwards, and says why", async () => {
    const closing = await joinedNode("closing");
    const other = await joinedNode("other");
    await eventually(() => other.ownSlots().length === 512, "both have their shares");
    await closing.close(1000);
    await expect(closing.get("k", "a").call("m")).rejects.toMatchObject({
      status: 503,
      message: "The server is shutting down",
    });
    await other.close(100);
  });

  it("says of a call under way that its effect is not known", async () => {
    const closing = await joinedNode("closing");
    const never = new Promise<string>(() => undefined);
    const other = await joinedNode("other", undefined, never);
    await eventually(() => other.ownSlots().length === 512, "both have their shares");
    const slots = new Set(other.ownSlots());
    const name = Array.from({ length: 50 }, (_, n) => `actor-${n}`).find((one) =>
      slots.has(slotOf("k", one)),
    );
    const call = closing.get("k", name ?? "").call("m");
    const failed = expect(call).rejects.toMatchObject({
      status: 503,
      message: "The server is shutting down: whether this took effect is not known",
    });
    await closing.close(500);
    await failed;
    await other.close(100);
  });

  it("does not wait for calls that no node is left to take", async () => {
    let isHeld = true;
    const closing = await joinedNode("closing", () => isHeld);
    await eventually(() => closing.ownSlots().length === 1024, "it has all slots");
    const closed = closing.close(60_000);
    await eventually(() => closing.ownSlots().length === 0, "it gives them up");
    const call = closing.get("k", "a").call("m");
    const refused = expect(call).rejects.toMatchObject({ status: 503 });
    const late = new Promise((resolve) => void setTimeout(resolve, 10_000, "late"));
    isHeld = false;
    expect(await Promise.race([closed, late])).toBeUndefined();
    await refused;
  });
});
