import { expect, it } from "vitest";
import { threads } from "../../adapters/shared/background/threads.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { documentMarkdown } from "../../core/rendering/markdown.ts";
import { learnModel } from "../../core/search/lexical/trained-model.ts";

const markdownOf = { html: "<p>x", base: null, frontmatter: false };
const never = new AbortController().signal;
const IDLE_MS = 77;

/** Threads whose idle time, and the time to start one, is over when the test says so. */
function threadsUnderTest() {
  const own = localSystem(() => undefined);
  const logged: string[] = [];
  const timers: { readonly ms: number; readonly ring: () => void }[] = [];
  const system = {
    ...own,
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        timers.push({ ms, ring: resolve });
        signal?.addEventListener("abort", () => reject(signal.reason));
      }),
  };
  const log = (_level: string, message: string): void => void logged.push(message);
  return { logged, timers, pool: threads({ system, log, most: 1, idleMs: IDLE_MS }) };
}

it("a thread that is taken as its idle time ends is not ended", async () => {
  const { pool, timers, logged } = threadsUnderTest();
  // However many steps lie between the two.
  for (let steps = 0; steps < 12; steps++) {
    expect(await pool.run(documentMarkdown, markdownOf, never)).toBe("x");
    const idle = timers.findLast(({ ms }) => ms === IDLE_MS);
    const made = pool.run(documentMarkdown, markdownOf, never);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    idle?.ring();
    expect(await made).toBe("x");
  }
  expect(logged).toEqual([]);
  await pool.close();
});

it("a thread that does not start in time is not waited for, and the next task tries again", async () => {
  const { pool, timers, logged } = threadsUnderTest();
  const made = pool.run(documentMarkdown, markdownOf, never);
  for (let step = 0; step < 50 && timers.length === 0; step++) await Promise.resolve();
  timers.shift()?.ring();
  expect(await made).toBe("x");
  expect(logged).toHaveLength(1);
  expect(await pool.run(documentMarkdown, markdownOf, never)).toBe("x");
  expect(timers.map(({ ms }) => ms)).toContain(IDLE_MS);
  await pool.close();
});

it("a task that takes seconds does not hold up the others", async () => {
  const { pool } = threadsUnderTest();
  const ended: string[] = [];
  // Texts whose words differ: a second of learning.
  const words = Array.from({ length: 60 }, (_, k) => k * k * 7);
  const texts = Array.from({ length: 2000 }, (_, n) =>
    words.map((word) => `w${(n * 31 + word) % 9973}`).join(" "),
  );
  const page = new TextEncoder().encode(JSON.stringify(texts));
  const learned = pool.run(learnModel, [page], never).then(() => ended.push("model"));
  const made = pool.run(documentMarkdown, markdownOf, never).then(() => ended.push("Markdown"));
  await Promise.all([learned, made]);
  expect(ended).toEqual(["Markdown", "model"]);
  await pool.close();
});
