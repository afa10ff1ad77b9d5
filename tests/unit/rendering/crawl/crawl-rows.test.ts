import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { joinBytes } from "../../../../core/http/stream.ts";
import type { ActorContext, Statement } from "../../../../core/ports.ts";
import {
  type CrawlFacts,
  type CrawlState,
  writeFacts,
} from "../../../../core/rendering/crawl/rows/crawl-state.ts";
import { jsonStringReader } from "../../../../core/rendering/crawl/rows/json-string.ts";

const decoder = new TextDecoder();

/** Reads a text that is stored as JSON in parts of so many bytes. */
function readInParts(json: string, size: number): string {
  const bytes = utf8(json);
  const reader = jsonStringReader();
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size)
    parts.push(reader.read(bytes.subarray(at, at + size), at + size >= bytes.length));
  return decoder.decode(joinBytes(parts));
}

describe("a text that is stored as JSON in parts", () => {
  it("is the same wherever a part ends", () => {
    const piece = fc.oneof(
      fc.constantFrom("\\", "\\\\", '"', "\n", "\u0001", "é", "€", "😀", "u12", "\ud83d"),
      fc.string({ maxLength: 3 }),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 20 }).map((pieces) => pieces.join("")),
        fc.integer({ min: 1, max: 9 }),
        (text, size) => {
          // Half a pair has no UTF-8.
          expect(readInParts(JSON.stringify(text), size)).toBe(decoder.decode(utf8(text)));
        },
      ),
      { numRuns: 500 },
    );
  });

  it("joins a pair of surrogates that was written as two escapes", () => {
    for (let size = 1; size < 16; size++)
      expect(readInParts(String.raw`"a\ud83d\ude00\\ud83d"`, size)).toBe(String.raw`a😀\ud83d`);
  });
});

describe("the row of a crawl", () => {
  const facts: CrawlFacts = {
    input: { url: "https://example.com" },
    stored: "a long request",
    isOpen: true,
    owner: "",
    status: "running",
    homes: ["example.com"],
    nextSeq: 1,
    total: 1,
    finished: 0,
    completed: 0,
    skipped: 0,
    freed: 0,
    bytes: 0,
    browserMs: 0,
    created: 1,
    ended: null,
    isReported: false,
    trace: null,
    due: 0,
  };

  it("is written once; later only what has changed", async () => {
    const written: Statement[] = [];
    const clock = {
      write(statements: readonly Statement[]) {
        written.push(...statements);
        return Promise.resolve([]);
      },
    };
    const context = { name: "a/1" } as ActorContext;
    const state = { context, clock, facts: null } as unknown as CrawlState;
    await writeFacts(state, facts, []);
    expect(written.splice(0)[0]?.params).toContain("a long request");
    const next = { ...facts, homes: ["example.com"], finished: 1, bytes: 7 };
    await writeFacts(state, next, [{ sql: "SELECT 1" }]);
    expect(written.splice(0)).toEqual([
      { sql: "SELECT 1" },
      {
        sql: "UPDATE rendering_crawls SET finished = ?, bytes = ? WHERE actor = ?",
        params: [1, 7, "a/1"],
      },
    ]);
    expect(state.facts).toBe(next);
    await writeFacts(state, { ...next, isReported: true }, []);
    expect(written.splice(0)[0]?.params).toEqual([1, "a/1"]);
    await writeFacts(state, state.facts ?? facts, []);
    expect(written).toEqual([]);
  });
});
