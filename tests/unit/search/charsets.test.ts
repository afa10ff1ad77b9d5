import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { charsetText, charsetTexts } from "../../fakes/search-charsets.ts";

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest({ readFile: fileReader }, {}, undefined, {}, readHere);
});
afterAll(() => api.close());

/** The text of what was uploaded, and its warnings. */
async function read(key: string, bytes: Uint8Array, type = "text/plain") {
  const { status, body } = await api.upload(key, bytes, { type });
  expect([status, body.errors]).toEqual([200, []]);
  const found = await api.call("GET", `/instances/main/items/${body.result.id}/chunks`);
  return { chunks: found.body.result, warnings: body.result.warnings ?? [] };
}

describe("a text that does not name its charset", () => {
  it.each(charsetTexts)("is read as $charset and says so", async ({ charset, text, bytes }) => {
    const { chunks, warnings } = await read(`${charset}.txt`, bytes);
    expect(chunks).toMatchObject([{ text }]);
    expect(warnings).toMatchObject([
      { code: "charset_guessed", message: expect.stringContaining(`read as ${charset},`) },
    ]);
  });

  it("is read as what it is when the charset alone says UTF-8, in markup too", async () => {
    const { text, bytes } = charsetText("gb18030");
    const type = "text/plain; charset=utf-8";
    expect((await read("said.txt", bytes, type)).chunks).toMatchObject([{ text }]);
    const page = new TextEncoder().encode('<meta charset="utf-8"><p>');
    const html = new Uint8Array([...page, ...bytes]);
    expect((await read("said.html", html, "text/html")).chunks).toMatchObject([{ text }]);
  });

  it("is UTF-8 where only a few of its letters are damaged", async () => {
    const good = new TextEncoder().encode(
      "Äpfel, Öl und Übermut für größere Bäume, schön süß. ".repeat(4),
    );
    const { chunks, warnings } = await read("cut.txt", good.slice(1));
    expect(chunks).toMatchObject([{ text: expect.stringContaining("für größere Bäume") }]);
    expect(warnings).toEqual([]);
  });

  it("is not made of bytes that only look like it", async () => {
    const bytes = Uint8Array.from({ length: 400 }, (_, n) => (n * n * 31 + 7) % 256);
    const { status, body } = await api.upload("noise.txt", bytes, { type: "text/plain" });
    expect([status, body.errors[0]?.message]).toEqual([
      400,
      "unsupported_file_type: the file holds bytes that are not text",
    ]);
  });

  it("is refused where nothing can guess, and so is a file name", async () => {
    const plain = await searchUnderTest();
    const { bytes } = charsetText("gb18030");
    const { status, body } = await plain.upload("a.txt", bytes, {
      type: "text/plain",
    });
    expect([status, body.errors[0]?.message]).toEqual([
      400,
      'unsupported_file_type: "a.txt" is not UTF-8 and names no charset',
    ]);
    const named = await plain.upload("\uFFFD.txt", "text", { type: "text/plain" });
    expect([named.status, named.body.errors[0]?.message]).toEqual([
      400,
      "file_field_is_required: the name of the file is not UTF-8",
    ]);
    await plain.close();
  });
});
