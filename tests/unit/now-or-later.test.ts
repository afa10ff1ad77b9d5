import { expect, it } from "vitest";
import { whenReady } from "../../core/work/now-or-later.ts";

it("whenReady() goes on at once with what is there, and later with a promise", async () => {
  expect(whenReady(1, (n) => n + 1)).toBe(2);
  const later = whenReady(Promise.resolve(1), (n) => n + 1);
  expect(later).toBeInstanceOf(Promise);
  expect(await later).toBe(2);
  await expect(whenReady(Promise.reject(new Error("no")), () => 1)).rejects.toThrow("no");
});
