import { expect, it } from "vitest";
import { turnstile } from "../../adapters/shared/work/turnstile.ts";

it("so many callers go on in each turn of the event loop, in their order, and a lone one at once", async () => {
  const pass = turnstile(3);
  const seen: number[] = [];
  const counts: number[] = [];
  const enter = async (name: number): Promise<void> => {
    const wait = pass();
    if (wait !== undefined) await wait;
    seen.push(name);
  };
  const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));
  const entered = Promise.all([0, 1, 2, 3, 4, 5, 6].map(enter));
  for (let n = 0; n < 3; n++) {
    counts.push(seen.length);
    await turn();
  }
  await entered;
  expect(counts).toEqual([3, 6, 7]);
  expect(seen).toEqual([0, 1, 2, 3, 4, 5, 6]);
  await turn();
  expect(pass()).toBeUndefined();
});
