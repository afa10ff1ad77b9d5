import { describe, expect, it } from "vitest";
import { ownPeers } from "../../adapters/shared/egress/egress-peer.ts";

const uid = process.getuid?.() ?? 0;
/** A line of `/proc/net/tcp` for a connection of `owner` from port 40000 to port 9000. */
const line = (owner: number): string =>
  `   7: 0100007F:9C40 0100007F:2328 01 00000000:00000000 00:00000000 00000000  ${owner}        0 2469396 1 0 20 4 30 10 -1\n`;

describe("ownPeers()", () => {
  it("passes connections of the own user only, and those that nobody can judge", async () => {
    const asked = (table: string): Promise<boolean> =>
      ownPeers(() => Promise.resolve(table))(9000, 40_000);
    expect(await asked(line(uid))).toBe(true);
    expect(await asked(line(uid + 1))).toBe(false);
    expect(await asked(line(uid) + line(uid + 1))).toBe(false);
    expect(await asked("")).toBe(true);
    expect(await ownPeers(() => Promise.reject(new Error("no table")))(9000, 40_000)).toBe(true);
  });

  it("reads the table once for connections that come together, and never trusts an older one", async () => {
    const readings: PromiseWithResolvers<string>[] = [];
    const isOwn = ownPeers(() => {
      const reading = Promise.withResolvers<string>();
      readings.push(reading);
      return reading.promise;
    });
    const first = isOwn(9000, 40_000);
    await Promise.resolve();
    await Promise.resolve();
    const later = Array.from({ length: 100 }, () => isOwn(9000, 40_000));
    expect(readings).toHaveLength(1);
    readings[0]?.resolve(line(uid));
    expect(await first).toBe(true);
    await Promise.resolve();
    expect(readings).toHaveLength(2);
    readings[1]?.resolve(line(uid + 1));
    expect(new Set(await Promise.all(later))).toEqual(new Set([false]));
    expect(readings).toHaveLength(2);
  });
});
