import { afterEach, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import { utf8 } from "../../../core/crypto/encoding.ts";
import type { Platform } from "../../../core/ports.ts";
import { addContent, packContent, storedBytes } from "../../../core/search/rows/kept-content.ts";
import { splitText, type TextChunk } from "../../../core/search/text/split.ts";
import { insideInstance } from "../../fakes/inside-instance.ts";
import { type SearchUnderTest, searchUnderTest } from "../../fakes/search-api.ts";

// Bytes of indexed items: not stored beside chunks that hold them, compressed where that saves room, and the same again.

let platform: Platform | undefined;
let api: SearchUnderTest | undefined;
afterEach(async () => {
  await platform?.close();
  await api?.close();
  platform = undefined;
  api = undefined;
});

/** Stores bytes with chunks; the bytes that are read again, and how many were stored. */
async function kept(
  bytes: Uint8Array,
  chunks: readonly TextChunk[],
): Promise<{ readonly read: Uint8Array; readonly stored: number }> {
  platform = await openPlatform();
  return insideInstance(platform, async (context) => {
    const { name, sql } = context;
    await sql.batch(addContent(name, "item", 1, bytes));
    await sql.batch([
      ...chunks.map(({ text, heading, startByte, endByte }, ord) => ({
        sql: `INSERT INTO search_chunks (actor, id, item_id, ord, start_byte, end_byte, heading, text)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
        params: [name, ord + 1, "item", ord, startByte, endByte, heading, text],
      })),
      ...(await packContent(context, "item", 1, chunks)),
    ]);
    const [row] = await sql.all(
      "SELECT SUM(LENGTH(data)) AS n FROM search_content WHERE actor = ?",
      [name],
    );
    return {
      read: await storedBytes(context, "item", 1, bytes.length),
      stored: Number(row?.["n"]),
    };
  });
}

const split = (text: string, overlapPercent = 10): TextChunk[] =>
  splitText(text, { size: 20, overlapPercent, format: "markdown" });
const words = "  \r\n# Füße\r\n\r\nStraße und 日本語。 Sätze, die länger sind. ".repeat(30);

describe("the bytes of an indexed item", () => {
  it.each([
    ["overlapping chunks, wide characters and blanks at both ends", `\n\n ${words}\n\t\n`, 10],
    ["chunks that do not overlap", words, 0],
    ["nothing but blanks", " \n \n", 10],
    ["nothing", "", 10],
  ])("are made of its chunks: %s", async (_, text, overlap) => {
    const bytes = utf8(text);
    const chunks = split(text, overlap);
    const { read, stored } = await kept(bytes, chunks);
    expect(read).toEqual(bytes);
    if (chunks.length > 0) expect(stored).toBeLessThan(20 * chunks.length);
  });

  it.each([
    ["a text with a byte order mark", utf8(`\uFEFF${words}`), split(words)],
    ["chunks that are another text", utf8(`<p>${words}</p>`), split(words)],
    ["more than is compressed at a time", utf8(words.repeat(100)), split("Another text.")],
  ])("are compressed where its chunks do not hold them: %s", async (_, bytes, chunks) => {
    const { read, stored } = await kept(bytes, chunks);
    expect(read).toEqual(bytes);
    expect(stored).toBeLessThan(bytes.length / 4);
  });

  it("stay as they are where nothing makes them smaller", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(5000));
    const { read, stored } = await kept(bytes, split("Another text."));
    expect(read).toEqual(bytes);
    expect(stored).toBe(bytes.length);
  });

  it("are indexed again with another size of chunks, and come back the same", async () => {
    api = await searchUnderTest({}, { chunk_size: 64 });
    const { id } = (await api.upload("a.md", words)).body.result;
    await api.call("PUT", "/instances/main", { chunk_size: 128 });
    for (let n = 0; n < 2; n++) {
      const body = { next_action: "INDEX", wait_for_completion: true };
      await api.call("PATCH", `/instances/main/items/${id}`, body);
      const answer = await api.raw("GET", `/instances/main/items/${id}/download`);
      expect(await answer.text()).toBe(words);
    }
    const stats = await api.call("GET", "/instances/main/stats");
    expect(stats.body.result).toMatchObject({
      engine: { r2: { objectCount: 1, payloadSizeBytes: utf8(words).length } },
    });
  });
});
