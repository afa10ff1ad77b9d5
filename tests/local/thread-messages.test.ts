import { expect, it } from "vitest";
import { buffersOf } from "../../adapters/shared/background/messages.ts";

it("bytes change hands between threads, as a value or as its members", () => {
  const bytes = new Uint8Array(1_000_000);
  expect(buffersOf(bytes)).toEqual([bytes.buffer]);
  expect(buffersOf({ bytes, text: "x", inner: { bytes } })).toEqual([bytes.buffer]);
  // A part of a buffer is copied: the rest of it is somebody else's.
  expect(buffersOf(bytes.subarray(1))).toEqual([]);
  expect(buffersOf({ part: bytes.subarray(1) })).toEqual([]);
  expect([buffersOf("text"), buffersOf(null), buffersOf(1)]).toEqual([[], [], []]);
});
