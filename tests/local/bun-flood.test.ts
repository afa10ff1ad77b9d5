import { expect, it } from "vitest";
import { floodGuard } from "../../adapters/bun/flood-guard.ts";

it("a client that sends more than 5,000 messages in one turn floods", () => {
  const isFlood = floodGuard();
  for (let at = 0; at < 5000; at++) expect(isFlood()).toBe(false);
  expect(isFlood()).toBe(true);
});

it("a client may send as many as it likes in several turns", async () => {
  const isFlood = floodGuard();
  for (let turn = 0; turn < 10; turn++) {
    for (let at = 0; at < 2000; at++) expect(isFlood()).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
  }
});
