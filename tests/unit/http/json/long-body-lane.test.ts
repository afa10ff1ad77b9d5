import { openPlatform } from "#platform";
import * as v from "valibot";
import { describe, expect, it, vi } from "vitest";
import type { System } from "../../../../core/ports.ts";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { readJson } from "../../../../core/http/fields/body.ts";
import { inLongBodyLane } from "../../../../core/http/json/long-body-lane.ts";

const LONG = 2 * 1024 * 1024;
const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
const forever = new AbortController().signal;

/** A sleep whose 0 ms end with a turn of the event loop, and all others with `late`, or at an abort. */
const sleepUntil =
  (late: Promise<void>): System["sleep"] =>
  (ms, signal) =>
    ms === 0
      ? turn()
      : new Promise((resolve, reject) => {
          void late.then(resolve);
          signal?.addEventListener("abort", () => reject(new Error("aborted")));
        });
const never = new Promise<void>(() => undefined);

/** A system, and work in its lane that notes when it begins, pauses and ends. */
function noted() {
  const system = { sleep: sleepUntil(never) };
  const order: string[] = [];
  const work = (name: string, signal = forever): Promise<void> =>
    inLongBodyLane({ system, owner: name.slice(0, 1), signal }, async (steps) => {
      order.push(`${name} begins`);
      await steps.sleep(0);
      await steps.sleep(0);
      order.push(`${name} ends`);
    });
  return { order, work };
}

const spans = (...names: string[]): string[] =>
  names.flatMap((name) => [`${name} begins`, `${name} ends`]);

describe("inLongBodyLane()", () => {
  it("lets one long body at a time be worked on, owners in turn", async () => {
    const { order, work } = noted();
    await Promise.all(["a1", "a2", "a3", "b1"].map((name) => work(name)));
    expect(order).toEqual(spans("a1", "b1", "a2", "a3"));
  });

  it("never begins what is aborted while it waits, and ends what is aborted at its next pause", async () => {
    const { order, work } = noted();
    const [first, second] = [new AbortController(), new AbortController()];
    const all = [work("a1", first.signal), work("a2", second.signal), work("a3")];
    first.abort(new Error("left"));
    second.abort(new Error("left, too"));
    const ends = await Promise.allSettled(all);
    expect(ends.map((one) => (one.status === "rejected" ? String(one.reason) : ""))).toEqual([
      "Error: left",
      "Error: left, too",
      "",
    ]);
    expect(order).toEqual(["a1 begins", ...spans("a3")]);
  });

  it("refuses the owner whose bodies fill the queue, and goes on", async () => {
    const { order, work } = noted();
    const all = await Promise.allSettled(
      [...Array.from({ length: 66 }, (_, i) => `a${i}`), "b"].map((name) => work(name)),
    );
    const refused = all.filter((one) => one.status === "rejected");
    expect(refused.map(({ reason }) => String(reason))).toEqual(
      Array(2).fill(expect.stringContaining("memory")),
    );
    expect(order).toContain("b ends");
  });

  it("lets none wait for over a minute", async () => {
    const minute = Promise.withResolvers<void>();
    const sleep = vi.fn(sleepUntil(minute.promise));
    const place = { system: { sleep }, owner: "", signal: forever };
    const first = Promise.withResolvers<string>();
    const running = inLongBodyLane(place, () => first.promise);
    const waiting = inLongBodyLane(place, async () => "begun");
    await turn();
    minute.resolve();
    await expect(waiting).rejects.toThrow("memory");
    expect(sleep.mock.calls.map(([ms]) => ms)).toEqual([60_000, 60_000]);
    first.resolve("first");
    expect(await running).toBe("first");
  });

  it("frees its place when work fails", async () => {
    const place = { system: { sleep: sleepUntil(never) }, owner: "", signal: forever };
    const failed = inLongBodyLane(place, () => Promise.reject(new Error("wrong")));
    await expect(failed).rejects.toThrow("wrong");
    expect(await inLongBodyLane(place, async () => "next")).toBe("next");
  });
});

it("long bodies are parsed one after the other, those of other owners first", async () => {
  const platform = await openPlatform();
  const order: string[] = [];
  const read = async (name: string): Promise<void> => {
    const body = utf8(JSON.stringify({ name, long: "x".repeat(LONG) }));
    const request = new Request("http://x", { method: "POST", body });
    const schema = v.object({ name: v.string(), long: v.string() });
    const options = { limit: 2 * LONG, platform, owner: name.slice(0, 1) };
    const { long } = await readJson(request, schema, options);
    order.push(`${name} ${long.length}`);
  };
  await Promise.all(["a1", "a2", "a3", "b1"].map(read));
  expect(order.indexOf(`b1 ${LONG}`)).toBe(1);
  expect(order).toHaveLength(4);
  await platform.close();
});
