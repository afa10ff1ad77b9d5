import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { docx, epub, mail, packageOf, pdf, pptx, xlsx } from "../../fakes/search-documents.ts";

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest({ readFile: fileReader }, {}, undefined, {}, readHere);
});
afterAll(() => api.close());

/** The chunks of what was uploaded, each with its headings. */
async function chunksOf(key: string, bytes: string | Uint8Array, type = ""): Promise<unknown> {
  const { status, body } = await api.upload(key, bytes, { type });
  expect([status, body.errors, body.result?.status]).toEqual([200, [], "completed"]);
  const found = await api.call("GET", `/instances/main/items/${body.result.id}/chunks`);
  return found.body.result.map((chunk) => ("text" in chunk ? chunk.text : null));
}

/** Why an upload is refused. */
async function refusal(key: string, bytes: string | Uint8Array, type = ""): Promise<string> {
  const { status, body } = await api.upload(key, bytes, { type });
  expect([status, body.errors[0]?.code]).toEqual([400, 7060]);
  return body.errors[0]?.message ?? "";
}

describe("documents", () => {
  it("DOCX: headings by the names of their styles, lists, tables", async () => {
    expect(await chunksOf("guide.docx", docx())).toEqual([
      "# Ferry guide\n\n## Fares & tickets\n\nThe ferry leaves at noon.\n\n- Bring a coat\n\n| Class | Price |\n| --- | --- |\n| Deck | 12 \\| 14 |",
    ]);
  });

  it("PPTX: slides in the order of the presentation", async () => {
    expect(await chunksOf("talk.pptx", pptx())).toEqual([
      "## Slide 1: Harbour\n\nBoats are moored here.",
      "## Slide 2: Tides\n\nThe tide turns at four.",
    ]);
  });

  it("XLSX: a table of each sheet, cells where they stand", async () => {
    expect(await chunksOf("prices.xlsx", xlsx())).toEqual([
      "## Prices\n\n| Fruit |  | Price in EUR |\n| --- | --- | --- |\n| Quince |  | 2.5 |",
    ]);
  });

  it("EPUB: chapters in the order of reading", async () => {
    expect(await chunksOf("book.epub", epub())).toEqual([
      "# The whale\n\nCall me Ishmael.",
      "# The carpet bag\n\nI stuffed a shirt.",
    ]);
  });

  it("PDF: pages, whatever the name says, and results tell the page", async () => {
    const bytes = pdf("Herons stand in shallow water.", "Otters sleep holding hands.");
    expect(await chunksOf("animals.bin", bytes)).toEqual([
      "## Page 1\n\nHerons stand in shallow water.",
      "## Page 2\n\nOtters sleep holding hands.",
    ]);
    const [best] = await api.search("otters sleep");
    expect(best).toMatchObject({ heading: "Page 2", item: { key: "animals.bin" } });
  });

  it("mail: subject, people, text and names of what is attached", async () => {
    expect(await chunksOf("note.eml", mail)).toEqual([
      "# The engine’s cards\n\nFrom: Ada Lovelace <ada@example.com>\nTo: <charles@example.com>\nDate: 2026-11-23T10:00:00.000Z\nAttached: cards.bin",
      "## Cards\n\nThe punched cards arrive on Thursday.",
    ]);
  });

  it("that are damaged, or have no text, are refused with the reason", async () => {
    expect(await refusal("broken.pdf", "%PDF-1.7\nnothing")).toMatch(/cannot be read as PDF: /);
    expect(await refusal("broken.docx", "PK\u0003\u0004 nothing")).toContain("the file is damaged");
    expect(await refusal("no.docx", packageOf({ "a.txt": "a" }))).toContain("holds no document");
    expect(await refusal("scan.pdf", pdf("", ""))).toContain("holds no text");
  });

  it("that unpack to very much are refused before they are unpacked", async () => {
    const huge = packageOf({ "word/document.xml": " ".repeat(70_000_000) });
    expect(huge.length).toBeLessThan(1_000_000);
    expect(await refusal("bomb.docx", huge)).toContain("unpacks to more than 64 MB");
  });

  it("need the option", async () => {
    const plain = await searchUnderTest();
    const { body } = await plain.upload("guide.docx", docx(), { type: "" });
    expect(body.errors[0]).toMatchObject({
      code: 7060,
      message: 'unsupported_file_type: "guide.docx" is DOCX, which needs the option readFile',
    });
    await plain.close();
  });
});

describe("text", () => {
  it("CSV becomes a table, whatever parts its cells", async () => {
    const table = '| Name | Note |\n| --- | --- |\n| Ada | said "hi", then left |';
    const quoted = 'Name,Note\r\nAda,"said ""hi"",\r\nthen left"\r\n';
    expect(await chunksOf("a.csv", quoted)).toEqual([table]);
    expect(await chunksOf("b.csv", 'Name;Note\nAda;"said ""hi"", then left"')).toEqual([table]);
    expect(await chunksOf("c.tsv", 'Name\tNote\nAda\t"said ""hi"", then left"')).toEqual([table]);
  });

  it("JSON and lines of it become paragraphs, whose values have their paths", async () => {
    const values = [
      { name: "Ada", of: { town: "London" }, tags: ["a", "b"] },
      { name: "Bo", x: null },
    ];
    const text = "name: Ada\nof.town: London\ntags: a, b\n\nname: Bo";
    expect(await chunksOf("a.json", JSON.stringify(values))).toEqual([text]);
    const lines = values.map((value) => JSON.stringify(value)).join("\n");
    expect(await chunksOf("a.jsonl", lines)).toEqual([text]);
    expect(await chunksOf("bad.json", '{"a": ')).toEqual(['{"a":']);
  });

  it.each([
    ["UTF-16 with a mark", [0xff, 0xfe, 0x47, 0, 0xfc, 0, 0x6e, 0], "text/plain", "Gün"],
    ["windows-1252, unsaid", [0x47, 0xfc, 0x6e, 0x73, 0x74, 0x69, 0x67], "text/plain", "Günstig"],
    [
      "a charset that the upload says",
      [0xcf, 0xf0, 0xe8],
      "text/plain; charset=windows-1251",
      "При",
    ],
  ])("is decoded from %s", async (name, bytes, type, text) => {
    expect(await chunksOf(`${name}.txt`, new Uint8Array(bytes), type)).toEqual([text]);
  });

  it("may hold a few odd characters, as real texts do", async () => {
    const lost = `A value of 5 \ufffd 2 mm was measured, and in a second trial 6 \ufffd 1 mm. ${"More text. ".repeat(20)}`;
    expect(await chunksOf("lost.md", lost)).toEqual([lost.trim()]);
    expect(await chunksOf("bell.txt", "Ring\u0007")).toEqual(["Ring\u0007"]);
  });

  it("is not made of bytes that only look like it", async () => {
    expect(await refusal("a.txt", new Uint8Array([65, 66, 0, 67]))).toContain("not text");
    expect(await refusal("b.txt", "\u0001\u0002\u0003binary")).toContain("not text");
    expect(await refusal("c.txt", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 65]))).toContain(
      "a picture",
    );
    expect(await refusal("d", "x", "video/mp4")).toContain("of type video");
    const old = new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);
    expect(await refusal("g.xls", old)).toContain("an old Office document");
    expect(await refusal("h.docx", old)).toContain("protected by a password");
  });
});
