import { describe, expect, it } from "vitest";
import { databaseTime } from "../../../adapters/postgres/slots/database-time.ts";

const DATABASE = 1_800_000_000_000;

describe("the time of a database", () => {
  it("is this machine's until the database has answered, and the database's from then on", () => {
    const time = databaseTime(
      () => DATABASE + 240_000,
      () => undefined,
    );
    expect([time.now(), time.aheadMs()]).toEqual([DATABASE + 240_000, null]);
    time.note(DATABASE, performance.now());
    expect(Math.abs(time.now() - DATABASE)).toBeLessThan(10_000);
    expect(Math.abs((time.aheadMs() ?? 0) - 240_000)).toBeLessThan(10_000);
  });

  it("is compared with this machine's, and a wrong clock is told once, and again after it was right", () => {
    const heard: number[] = [];
    let ahead = 0;
    const clock = (): number => DATABASE + performance.now() + ahead;
    const time = databaseTime(clock, (ms) => void heard.push(Math.round(ms / 60_000)));
    const beat = (): void => {
      const sent = performance.now();
      time.note(DATABASE + sent, sent);
    };
    for (ahead of [0, -240_000, -240_000, 0, 120_000]) beat();
    expect(heard).toEqual([-4, 2]);
  });

  it("is not taken for another one when the answer was long on its way", () => {
    const heard: number[] = [];
    const time = databaseTime(
      () => DATABASE + performance.now(),
      (ms) => void heard.push(ms),
    );
    const sent = performance.now() - 60_000;
    time.note(DATABASE + sent, sent);
    expect(heard).toEqual([]);
  });
});
