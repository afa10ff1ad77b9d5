import { describe, expect, it } from "vitest";
import { fairSlots, inSlot } from "../../../core/work/fair-slots.ts";

const forever = new AbortController().signal;
const refuse = (): Error => new RangeError("full");
const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe("fairSlots()", () => {
  it("runs one owner's work in the order in which it came", async () => {
    const slots = fairSlots({ running: 1, waiting: 5, refuse });
    const order: number[] = [];
    const first = await slots.take("a", forever);
    const work = [1, 2, 3].map(async (n) => {
      await inSlot(slots, "a", forever, async () => void order.push(n));
    });
    await settled();
    expect(order).toEqual([]);
    first();
    await Promise.all(work);
    expect(order).toEqual([1, 2, 3]);
  });

  it("gives a free slot to the owner that runs least, in turn", async () => {
    const slots = fairSlots({ running: 1, waiting: 10, refuse });
    const order: string[] = [];
    const first = await slots.take("a", forever);
    const work = ["a1", "a2", "a3", "b1", "b2", "c1"].map(async (name) => {
      await inSlot(slots, name.slice(0, 1), forever, async () => void order.push(name));
    });
    first();
    await Promise.all(work);
    expect(order).toEqual(["b1", "c1", "a1", "b2", "a2", "a3"]);
  });

  it("starts an owner that runs nothing in a slot of the reserve, and only such a one", async () => {
    const slots = fairSlots({ running: 2, waiting: 10, reserve: 1, refuse });
    await slots.take("a", forever);
    await slots.take("a", forever);
    let third = false;
    void slots.take("a", forever).then(() => (third = true));
    const free = await slots.take("b", forever);
    await settled();
    expect(third).toBe(false);
    free();
    await settled();
    expect(third).toBe(false);
  });

  it("refuses the owner that fills the queue, not those that come after it", async () => {
    const slots = fairSlots({ running: 1, waiting: 4, refuse });
    await slots.take("a", forever);
    const mine = [1, 2, 3, 4].map((n) => slots.take("a", forever).then(() => n, String));
    await expect(slots.take("a", forever)).rejects.toThrow("full");
    void slots.take("b", forever);
    expect(await mine[3]).toBe("RangeError: full");
    void slots.take("b", forever);
    expect(await mine[2]).toBe("RangeError: full");
    // Both have two: nobody has a better right to a place.
    await expect(slots.take("b", forever)).rejects.toThrow("full");
  });

  it("gives up its place in the queue on abort", async () => {
    const slots = fairSlots({ running: 1, waiting: 1, refuse });
    const free = await slots.take("a", forever);
    const stop = new AbortController();
    const left = slots.take("a", stop.signal);
    stop.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    const next = slots.take("a", forever);
    free();
    expect(await next).toBeTypeOf("function");
    await expect(slots.take("a", stop.signal)).rejects.toThrow("left");
  });

  it("frees a slot once, however often it is told", async () => {
    const slots = fairSlots({ running: 1, waiting: 0, refuse });
    const free = await slots.take("a", forever);
    free();
    free();
    await slots.take("b", forever);
    await expect(slots.take("c", forever)).rejects.toThrow("full");
  });
});
