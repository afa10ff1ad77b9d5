import { expect, it } from "vitest";
import { threads } from "../../adapters/shared/background/threads.ts";
import { localSystem } from "../../adapters/shared/system.ts";
import { documentMarkdown } from "../../core/rendering/input/markdown.ts";
import { learnModel } from "../../core/search/lexical/trained-model.ts";

const markdownOf = { html: "<p>x", base: null, frontmatter: false };
const never = new AbortController().signal;
const IDLE_MS = 77;
const START_MS = 10_000;

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
  const starts = () => timers.find(({ ms }) => ms === START_MS);
  for (let step = 0; step < 50 && starts() === undefined; step++) await Promise.resolve();
  starts()?.ring();
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

it("threads are shared between owners: one that asks much keeps no other waiting", async () => {
  const { pool } = threadsUnderTest();
  const ended: string[] = [];
  const large = { ...markdownOf, html: "<p>Some <b>bold</b> text.</p>\n".repeat(20_000) };
  const made = ["a1", "a2", "a3", "a4", "b1"].map(async (name) => {
    await pool.run(documentMarkdown, name === "b1" ? markdownOf : large, never, name.slice(0, 1));
    ended.push(name);
  });
  await Promise.all(made);
  expect(ended.indexOf("b1")).toBeLessThan(ended.indexOf("a3"));
  await pool.close();
});

it("the queue of a kind of tasks is bounded, and full for the owner that fills it", async () => {
  const { pool } = threadsUnderTest();
  const stop = new AbortController();
  const made = Array.from({ length: 1002 }, () =>
    pool.run(documentMarkdown, markdownOf, stop.signal, "a"),
  );
  const outcomes = Promise.allSettled(made);
  await expect(pool.run(documentMarkdown, markdownOf, never, "a")).rejects.toMatchObject({
    kind: "rate_limited",
    message: "Rate limit exceeded: too many files and pages wait to be read, retry later",
  });
  expect(await pool.run(documentMarkdown, markdownOf, never, "b")).toBe("x");
  stop.abort(new Error("enough"));
  await outcomes;
  await pool.close();
});
