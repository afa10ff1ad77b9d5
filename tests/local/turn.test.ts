import { describe, expect, it } from "vitest";
import { answerAtTurnsEnd, atTurnsEnd } from "../../adapters/shared/http/turn.ts";

describe("atTurnsEnd()", () => {
  it("does what a turn brought at its end, in its order, before a promise goes on", async () => {
    const seen: string[] = [];
    const later = atTurnsEnd();
    const both = ["a", "b"].map(
      (name) =>
        new Promise<void>((resolve) => {
          later(() => {
            seen.push(name);
            resolve();
          });
        }),
    );
    await Promise.resolve();
    expect(seen).toEqual([]);
    await both[0]?.then(() => seen.push("then"));
    expect(seen).toEqual(["a", "b", "then"]);
  });

  it("does what comes meanwhile in the next turn", async () => {
    const seen: string[] = [];
    const later = atTurnsEnd();
    await new Promise<void>((resolve) => {
      later(() => {
        seen.push("first");
        later(() => {
          seen.push("third");
          resolve();
        });
      });
      later(() => seen.push("second"));
    });
    expect(seen).toEqual(["first", "second", "third"]);
  });
});

describe("answerAtTurnsEnd()", () => {
  it("resolves and rejects as the work does, each for itself", async () => {
    const answer = answerAtTurnsEnd();
    const outcomes = await Promise.allSettled([
      answer(() => 1),
      answer(() => {
        throw new TypeError("thrown");
      }),
      answer(() => Promise.reject(new TypeError("rejected"))),
      answer(() => Promise.resolve(4)),
    ]);
    expect(outcomes.map((one) => (one.status === "fulfilled" ? one.value : one.reason))).toEqual([
      1,
      new TypeError("thrown"),
      new TypeError("rejected"),
      4,
    ]);
  });
});
