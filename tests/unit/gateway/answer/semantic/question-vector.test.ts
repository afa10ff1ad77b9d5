import { openPlatform } from "#platform";
import { expect, it } from "vitest";
import { questionVectors } from "../../../../../core/gateway/semantic-cache/question-vector.ts";

it("questions that the embedder never ended make room after a while", async () => {
  const { system, close } = await openPlatform();
  let now = 1000;
  let answer: Promise<number[][]> = new Promise(() => undefined);
  const vectorOf = questionVectors({
    embed: () => answer,
    timeoutMs: 1,
    log: () => undefined,
    system: { ...system, now: () => now, monotonic: () => now },
  });
  const ask = (): Promise<Float32Array | null> => vectorOf("a", new AbortController().signal);
  for (let n = 0; n < 8; n++) await ask();
  answer = Promise.resolve([[3, 4]]);
  now += 60_000;
  expect(await ask()).toBeNull();
  now += 10;
  expect(await ask()).toEqual(Float32Array.from([0.6, 0.8]));
  await close();
});
