import { describe, expect, it } from "vitest";
import { TransportError } from "../../core/net/transport-error.ts";
import { upstreamBody, type UpstreamBody } from "../../adapters/shared/http/upstream-body.ts";

const KIBI = 1024;

/**
 * An upstream as the parser of a connection shows it: while paused its bytes wait, and `resume` brings
 * them, and the end, before it returns.
 */
function source(sizes: readonly number[]): { body: UpstreamBody; run(): void } {
  const state = { paused: false, running: false, ended: false, at: 0 };
  const run = (): void => {
    if (state.running) return;
    state.running = true;
    while (!state.paused && state.at < sizes.length) {
      body.data(new Uint8Array(sizes[state.at] ?? 0).fill(state.at));
      state.at += 1;
    }
    state.running = false;
    if (state.paused || state.ended) return;
    state.ended = true;
    body.end();
  };
  const body = upstreamBody({
    pause: () => void (state.paused = true),
    resume() {
      if (!state.paused) return;
      state.paused = false;
      run();
    },
    abort: () => undefined,
  });
  return { body, run };
}

/** What a watcher was told: a number for each chunk, then how it ended. */
function watching(body: UpstreamBody): (number | string)[] {
  const told: (number | string)[] = [];
  body.watch({
    onChunk: (chunk) => void told.push(chunk[0] ?? -1),
    onEnd: (end) => void told.push(end),
  });
  return told;
}

const shapes: readonly (readonly [string, readonly number[]])[] = [
  ["nothing", []],
  ["one small chunk", [10]],
  ["what fills the room exactly", [64 * KIBI]],
  ["two chunks that each fill it", [64 * KIBI, 64 * KIBI]],
  ["many chunks", Array.from({ length: 100 }, (_, i) => (i % 7) * 9 * KIBI + 1)],
];

describe("upstreamBody()", () => {
  it.each(shapes)("hands a late reader %s, in order, then the end", async (_, sizes) => {
    const { body, run } = source(sizes);
    const told = watching(body);
    run();
    const read: Uint8Array[] = [];
    for await (const chunk of body.stream as unknown as AsyncIterable<Uint8Array>) read.push(chunk);
    const sent = sizes.map((size, at) => new Uint8Array(size).fill(at));
    expect(Buffer.concat(read).equals(Buffer.concat(sent))).toBe(true);
    expect(told).toEqual([...sizes.keys(), "complete"]);
  });

  it.each(shapes)(
    "hands %s on as a change has it, and what it kept back at the end",
    async (_, sizes) => {
      const change = () => {
        let held = 0;
        return {
          // Two become one.
          push(chunk: Uint8Array): Uint8Array {
            held += chunk.length;
            const out = held > 64 * KIBI ? held : 0;
            held -= out;
            return new Uint8Array(out);
          },
          end: () => new Uint8Array(held),
        };
      };
      const total = sizes.reduce((sum, size) => sum + size, 0);
      const read = source(sizes);
      const told = watching(read.body);
      read.body.change(change());
      let size = 0;
      read.run();
      for await (const chunk of read.body.stream as unknown as AsyncIterable<Uint8Array>) {
        expect(chunk.length).toBeGreaterThan(0);
        size += chunk.length;
      }
      expect([size, told]).toEqual([total, [...sizes.keys(), "complete"]]);
      const piped = source(sizes);
      piped.body.change(change());
      let written = 0;
      let ends = 0;
      piped.run();
      piped.body.pipe({
        write(chunk) {
          written += chunk.length;
          return true;
        },
        end: () => void (ends += 1),
        fail: () => undefined,
      });
      expect([written, ends]).toEqual([total, 1]);
    },
  );

  it.each(shapes)("hands a late sink %s, in order, then the end", (_, sizes) => {
    const { body, run } = source(sizes);
    const told = watching(body);
    run();
    const taken: (number | string)[] = [];
    body.pipe({
      write: (chunk) => taken.push(chunk[0] ?? -1) % 3 !== 0,
      end: () => void taken.push("end"),
      fail: () => void taken.push("fail"),
    });
    for (let drains = 0; drains < 100; drains++) body.resume();
    expect(taken).toEqual([...sizes.keys(), "end"]);
    expect(told).toEqual([...sizes.keys(), "complete"]);
  });

  it("hands a reader all that waits in one piece, and nothing of it twice", async () => {
    const { body, run } = source([1, 2, 3]);
    const told = watching(body);
    run();
    const reader = body.stream.getReader();
    expect((await reader.read()).value).toEqual(new Uint8Array([0, 1, 1, 2, 2, 2]));
    expect(await reader.read()).toMatchObject({ done: true });
    expect(told).toEqual([0, 1, 2, "complete"]);
  });

  it("keeps nobody's bytes beyond the chunk that filled the room", () => {
    const { body, run } = source(Array.from({ length: 1000 }, () => 40 * KIBI));
    run();
    let taken = 0;
    body.pipe({ write: () => ++taken < 0, end: () => undefined, fail: () => undefined });
    expect(taken).toBe(2);
  });

  it("leaves an aborted stream to its reader, who may cancel it, before it fails", async () => {
    const [cancelled, read] = [source([]).body, source([]).body];
    for (const body of [cancelled, read]) {
      const reader = body.stream.getReader();
      const first = reader.read();
      body.fail(new TransportError("aborted", "The client left"));
      if (body === read) await expect(first).rejects.toMatchObject({ reason: "aborted" });
      else {
        await reader.cancel();
        expect(await first).toMatchObject({ done: true });
      }
    }
  });
});
