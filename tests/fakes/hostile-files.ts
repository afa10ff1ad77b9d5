import { strToU8, zlibSync, zipSync, type Zippable } from "fflate";

/** Small files that unpack to very much, or take very long where nothing bounds it; each with the reason for which it is refused. */
export interface HostileFile {
  readonly name: string;
  readonly key: string;
  readonly bytes: () => Uint8Array<ArrayBuffer>;
  readonly refusal: RegExp;
}

const characters = /it has more than 8388608 characters/u;
const levels = /nested more than 512 levels deep/u;

/** A package of texts, by their paths. */
function zip(files: Readonly<Record<string, string>>): Uint8Array<ArrayBuffer> {
  const entries = Object.entries(files).map(([path, text]) => [path, strToU8(text)] as const);
  return new Uint8Array(zipSync(Object.fromEntries(entries) satisfies Zippable, { level: 1 }));
}

function docx(body: string): Uint8Array<ArrayBuffer> {
  return zip({ "word/document.xml": `<w:document><w:body>${body}</w:body></w:document>` });
}

function epub(chapters: readonly string[], order: readonly number[]): Uint8Array<ArrayBuffer> {
  const items = chapters.map((_, n) => `<item id="i${n}" href="${n}.xhtml"/>`).join("");
  const spine = order.map((n) => `<itemref idref="i${n}"/>`).join("");
  return zip({
    "META-INF/container.xml": `<container><rootfile full-path="c.opf"/></container>`,
    "c.opf": `<package><manifest>${items}</manifest><spine>${spine}</spine></package>`,
    ...Object.fromEntries(chapters.map((text, n) => [`${n}.xhtml`, text])),
  });
}

function xlsx(strings: string, sheet: string, behind = ""): Uint8Array<ArrayBuffer> {
  return zip({
    "xl/workbook.xml": `<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="r1" Target="s.xml"/></Relationships>`,
    "xl/sharedStrings.xml": `<sst>${strings}</sst>`,
    "xl/s.xml": `<worksheet><sheetData>${sheet}</sheetData>${behind}</worksheet>`,
  });
}

/** A DOCX whose directory says that its document has 100 bytes. */
function understated(): Uint8Array<ArrayBuffer> {
  const bytes = docx(paragraph("word ".repeat(100_000)));
  const directory = bytes.findLastIndex((byte, at) => byte === 1 && bytes[at + 1] === 2) - 2;
  new DataView(bytes.buffer).setUint32(directory + 24, 100, true);
  return bytes;
}

/** A PDF of one page, whose content is a stream as it is given. */
export function pdfOf(content: Uint8Array, filter: string): Uint8Array<ArrayBuffer> {
  const head = strToU8(
    "%PDF-1.4\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1>>\nendobj\n" +
      "3 0 obj\n<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Resources<</Font<</F1 5 0 R>>>>/Contents 4 0 R>>\nendobj\n" +
      "5 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>\nendobj\n" +
      `4 0 obj\n<</Length ${content.length}/Filter ${filter}>>\nstream\n`,
  );
  const tail = strToU8("\nendstream\nendobj\ntrailer\n<</Root 1 0 R>>\n%%EOF\n");
  const out = new Uint8Array(head.length + content.length + tail.length);
  out.set(head);
  out.set(content, head.length);
  out.set(tail, head.length + content.length);
  return out;
}

let twice: Uint8Array | undefined;

/** 140 MB of blanks, packed twice: once for all tests. */
function packedTwice(): Uint8Array {
  const blanks = (): Uint8Array => new Uint8Array(140 * 1024 * 1024).fill(32);
  twice ??= zlibSync(zlibSync(blanks(), { level: 1 }), { level: 9 });
  return twice;
}

const paragraph = (text: string): string => `<w:p><w:r><w:t>${text}</w:t></w:r></w:p>`;

export const hostileFiles: readonly HostileFile[] = [
  {
    name: "a DOCX of one paragraph",
    key: "a.docx",
    bytes: () => docx(paragraph("x".repeat(9_000_000))),
    refusal: characters,
  },
  {
    name: "a DOCX of many paragraphs",
    key: "b.docx",
    bytes: () => docx(paragraph("word ".repeat(100)).repeat(18_000)),
    refusal: characters,
  },
  {
    name: "a DOCX nested very deep",
    key: "c.docx",
    bytes: () => docx("<w:p>".repeat(200_000)),
    refusal: levels,
  },
  {
    name: "an EPUB of 5,001 chapters",
    key: "d.epub",
    bytes: () =>
      epub(
        Array.from({ length: 5001 }, () => "<p>x</p>"),
        Array.from({ length: 5001 }, (_, n) => n),
      ),
    refusal: /more than 5000 parts/u,
  },
  {
    name: "an EPUB that has one chapter many times",
    key: "e.epub",
    bytes: () =>
      epub(
        [`<p>${"word ".repeat(20_000)}</p>`],
        Array.from({ length: 4000 }, () => 0),
      ),
    refusal: /more than 8388608 characters|more than 64 MB/u,
  },
  {
    name: "an EPUB whose chapter is nested very deep",
    key: "f.epub",
    bytes: () => epub(["<b>".repeat(200_000)], [0]),
    refusal: levels,
  },
  {
    name: "an XLSX that shows one text in many cells",
    key: "g.xlsx",
    bytes: () =>
      xlsx(
        `<si><t>${"long ".repeat(2000)}</t></si>`,
        `<row>${`<c t="s"><v>0</v></c>`.repeat(100)}</row>`.repeat(20),
      ),
    refusal: characters,
  },
  {
    name: "an XLSX of cells far to the right",
    key: "h.xlsx",
    bytes: () => xlsx("", `<row><c r="GR1"><v>1</v></c></row>`.repeat(50_000)),
    refusal: characters,
  },
  {
    name: "an XLSX whose merged cells repeat a long text",
    key: "m.xlsx",
    bytes: () =>
      xlsx(
        "",
        `<row r="1"><c r="A1" t="str"><v>${"long ".repeat(2000)}</v></c></row>`,
        `<mergeCells>${'<mergeCell ref="A1:CV1"/>'.repeat(20)}</mergeCells>`,
      ),
    refusal: characters,
  },
  {
    name: "a DOCX that unpacks to very much",
    key: "o.docx",
    bytes: () => zip({ "word/document.xml": " ".repeat(65 * 1024 * 1024) }),
    refusal: /unpacks to more than 64 MB/u,
  },
  {
    name: "a DOCX whose part unpacks to more than it says",
    key: "n.docx",
    bytes: understated,
    refusal: /another size than its directory says/u,
  },
  {
    name: "a JSON text whose every value has a long path",
    key: "i.json",
    bytes: () => {
      const values = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n]));
      return strToU8(JSON.stringify({ ["key".repeat(10_000)]: values })).slice();
    },
    refusal: characters,
  },
  {
    name: "a CSV text of one wide row and many narrow ones",
    key: "j.csv",
    bytes: () => strToU8(`${"a,".repeat(5000)}\n${"b\n".repeat(5000)}`).slice(),
    refusal: characters,
  },
  {
    name: "a PDF whose content is packed twice",
    key: "k.pdf",
    bytes: () => pdfOf(packedTwice(), "[/FlateDecode /FlateDecode]"),
    refusal: /it unpacks to more than 128 MB/u,
  },
  {
    name: "a PDF whose page has very much text",
    key: "l.pdf",
    bytes: () =>
      pdfOf(
        zlibSync(
          strToU8(`BT /F1 1 Tf ${`1 0 0 1 1 9 Tm (${"word ".repeat(60)}) Tj `.repeat(30_000)} ET`),
        ),
        "/FlateDecode",
      ),
    refusal: characters,
  },
];
