import { describe, expect, it } from "vitest";
import {
  firstBytes,
  passThrough,
  pulledStream,
  readOrPass,
  readUpTo,
  withPrefix,
  joinInParts,
} from "../../../core/http/stream.ts";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

/** A stream of these chunks, one per pull; it fails behind them with `error`, and tells why it was cancelled. */
function source(chunks: readonly Uint8Array[], error?: Error) {
  const left: unknown[] = [];
  let pulled = 0;
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = chunks[pulled++];
        if (chunk !== undefined) controller.enqueue(chunk);
        else if (error === undefined) controller.close();
        else controller.error(error);
      },
      cancel: (reason) => void left.push(reason),
    },
    { highWaterMark: 0 },
  );
  return { stream, left, pulled: () => pulled };
}

async function read(stream: ReadableStream<Uint8Array>): Promise<number[]> {
  return [...new Uint8Array(await new Response(stream).arrayBuffer())];
}

describe("readUpTo()", () => {
  it("takes exactly the limit, and lets go of a stream with one byte more", async () => {
    const fits = source([bytes(1, 2), bytes(3)]);
    expect(await readUpTo(fits.stream, 3)).toEqual(bytes(1, 2, 3));
    const over = source([bytes(1, 2), bytes(3, 4), bytes(5)]);
    expect(await readUpTo(over.stream, 3)).toBeNull();
    expect([over.left.length, over.pulled()]).toEqual([1, 2]);
  });

  it("ends with what the count throws, and with what the stream fails with", async () => {
    const counted = source([bytes(1), bytes(2, 3), bytes(4)]);
    const sizes: number[] = [];
    const full = readUpTo(counted.stream, 10, (size) => {
      sizes.push(size);
      if (size > 1) throw new Error("full");
    });
    await expect(full).rejects.toThrow("full");
    expect([sizes, counted.left.length]).toEqual([[1, 2], 1]);
    await expect(readUpTo(source([bytes(1)], new Error("broken")).stream, 10)).rejects.toThrow(
      "broken",
    );
  });
});

describe("readOrPass()", () => {
  it("gives the bytes, or a stream of the same bytes where they are too many", async () => {
    expect(await readOrPass(source([bytes(1), bytes(2)]).stream, 2)).toEqual(bytes(1, 2));
    const passed = await readOrPass(source([bytes(1), bytes(2), bytes(3)]).stream, 1);
    if (!(passed instanceof ReadableStream)) throw new Error("Read whole");
    expect(await read(passed)).toEqual([1, 2, 3]);
  });
});

describe("firstBytes()", () => {
  it("reads no more than it needs", async () => {
    const long = source([bytes(1, 2), bytes(3, 4), bytes(5)]);
    expect([...(await firstBytes(long.stream, 3))]).toEqual([1, 2, 3]);
    expect([long.pulled(), long.left.length]).toEqual([2, 1]);
    const short = source([bytes(1)]);
    expect([...(await firstBytes(short.stream, 3))]).toEqual([1]);
    expect(short.left).toEqual([]);
  });
});

describe("withPrefix()", () => {
  it("cancels what is left, whether or not the prefix was read", async () => {
    const { stream, left } = source([bytes(3)]);
    await withPrefix([bytes(1), bytes(2)], stream.getReader()).cancel("gone");
    expect(left).toEqual(["gone"]);
  });
});

describe("passThrough()", () => {
  it("reads at its reader's pace, and shows each read and the end", async () => {
    const { stream, pulled } = source([bytes(1), bytes(2)]);
    const seen: unknown[] = [];
    const passed = passThrough(stream, async (next) => {
      const { done, value } = await next;
      seen.push(done ? "end" : value.length);
      return next;
    });
    expect(pulled()).toBe(0);
    const reader = passed.getReader();
    await reader.read();
    expect(pulled()).toBe(1);
    await reader.read();
    expect((await reader.read()).done).toBe(true);
    expect(seen).toEqual([1, 1, "end"]);
  });

  it("breaks as its source does", async () => {
    const { stream } = source([bytes(1)], new Error("broken"));
    const passed = passThrough(stream, (next) => next);
    await expect(read(passed)).rejects.toThrow();
  });
});

describe("pulledStream()", () => {
  it("hands out the bytes that come with the end, if there are any", async () => {
    const cancel = () => Promise.resolve();
    const last = pulledStream(async () => ({ done: true, value: bytes(7) }), cancel);
    expect(await read(last)).toEqual([7]);
    const none = pulledStream(async () => ({ done: true, value: bytes() }), cancel);
    expect(await none.getReader().read()).toEqual({ done: true, value: undefined });
  });
});

describe("joinInParts()", () => {
  it("gives the same bytes, and lets others go on after every few megabytes", async () => {
    const pieces = Array.from({ length: 20 }, (_, n) => new Uint8Array(1_000_000).fill(n));
    let pauses = 0;
    const system = {
      async sleep(): Promise<void> {
        pauses += 1;
      },
    };
    const joined = await joinInParts(pieces, { system });
    // Not toEqual(): of so many bytes that takes Bun minutes.
    expect(joined.length).toBe(20_000_000);
    expect(joined.every((byte, at) => byte === Math.floor(at / 1_000_000))).toBe(true);
    expect(pauses).toBe(4);
    expect(await joinInParts(pieces.slice(0, 4), { system })).toHaveLength(4_000_000);
    expect(pauses).toBe(4);
  });
});
