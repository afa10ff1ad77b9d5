import { strFromU8, strToU8, unzipSync, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { fileReader, type ReadFileResult } from "../../../core/search/files/mod.ts";
import {
  bytesOf,
  libreOfficeDocx,
  libreOfficeEpub,
  libreOfficeXlsx,
  openpyxlXlsx,
  pptxGenJsPptx,
} from "../../fakes/office-files.ts";
import { packageOf } from "../../fakes/search-documents.ts";

async function read(key: string, bytes: Uint8Array): Promise<ReadFileResult> {
  const file = { key, contentType: "", bytes: new Uint8Array(bytes) };
  return runToEnd((await fileReader.load())(file));
}

async function textOf(key: string, bytes: Uint8Array): Promise<string> {
  const { text, warnings = [] } = await read(key, bytes);
  expect(warnings).toEqual([]);
  return text;
}

const W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main";
const MC = "http://schemas.openxmlformats.org/markup-compatibility/2006";
const types = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const strictTypes = "http://purl.oclc.org/ooxml/officeDocument/relationships";

/** Relations of a part: types and targets. */
function relationsOf(...all: readonly (readonly [type: string, target: string])[]): string {
  const rows = all.map(
    ([type, target], n) => `<Relationship Id="r${n}" Type="${types}/${type}" Target="${target}"/>`,
  );
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${rows.join("")}</Relationships>`;
}

/** A DOCX document of one part. */
function docxOf(body: string): Uint8Array {
  return packageOf({
    "word/document.xml": `<w:document xmlns:w="${W}" xmlns:mc="${MC}" xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:new="urn:of-tomorrow"><w:body>${body}</w:body></w:document>`,
  });
}

const run = (text: string): string => `<w:r><w:t>${text}</w:t></w:r>`;
const box = (text: string): string => `<w:txbxContent><w:p>${run(text)}</w:p></w:txbxContent>`;

describe("DOCX", () => {
  it("of LibreOffice: everything that a reader sees, once, where it belongs", async () => {
    expect(await textOf("a.docx", bytesOf(libreOfficeDocx))).toBe(
      [
        "# Ferry contract",
        "The contract ends in May and the fee is due at once.",
        "Note: Except for the pangolin clause.",
        "Note: See the okapi ruling.",
        "Comment by Bea: Ask about the capybara.",
        "The anchor sentence says zanzibar before the box. The tail says marimba.",
        "Callout with a quokka.",
        "We gladly numbat agree.",
        "The part AB-1234 runs software.\nSecond line.",
        "| Region | Price |\n| --- | --- |\n| Europe | 4200 |\n| Europe | 4300 |",
        "- Bring a wombat",
        "Harbour office ocelot",
        "Page 1",
      ].join("\n\n"),
    );
  });

  it.each([
    [
      "the first version that Office knows",
      `<mc:Choice Requires="wps">${box("one")}</mc:Choice><mc:Choice Requires="wps">${box("two")}</mc:Choice><mc:Fallback>${box("three")}</mc:Fallback>`,
      "one",
    ],
    [
      "the fallback of unknown ones",
      `<mc:Choice Requires="new">${box("one")}</mc:Choice><mc:Fallback>${box("three")}</mc:Fallback>`,
      "three",
    ],
    [
      "a version within a version",
      `<mc:Choice Requires="wps"><mc:AlternateContent><mc:Choice Requires="new">${box("one")}</mc:Choice><mc:Fallback>${box("two")}</mc:Fallback></mc:AlternateContent></mc:Choice><mc:Fallback>${box("three")}</mc:Fallback>`,
      "two",
    ],
  ])("of content in several versions has %s", async (_, versions, text) => {
    const body = `<w:p>${run("before")}<w:r><mc:AlternateContent>${versions}</mc:AlternateContent></w:r>${run(" after")}</w:p>`;
    expect(await textOf("a.docx", docxOf(body))).toBe(`before after\n\n${text}`);
  });

  it("has what was inserted or moved here, not what was deleted or moved away", async () => {
    const body = `<w:p><w:ins>${run("in ")}</w:ins><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:moveFrom>${run("moved")}</w:moveFrom></w:p><w:p><w:moveTo>${run("moved")}</w:moveTo></w:p>`;
    expect(await textOf("a.docx", docxOf(body))).toBe("in\n\nmoved");
  });

  it.each([
    ["another prefix", "q:", `xmlns:q="${W}"`, types],
    ["no prefix", "", `xmlns="${W}" xmlns:q="${W}"`, types],
    [
      "strict namespaces",
      "w:",
      'xmlns:w="http://purl.oclc.org/ooxml/wordprocessingml/main"',
      strictTypes,
    ],
  ])("is read with %s", async (_, prefix, namespace, relationTypes) => {
    const value = prefix === "" ? "q:val" : `${prefix}val`;
    const id = prefix === "" ? "q:styleId" : `${prefix}styleId`;
    const p = prefix;
    const bytes = packageOf({
      "_rels/.rels": `<Relationships><Relationship Id="a" Type="${relationTypes}/officeDocument" Target="main/text.xml"/></Relationships>`,
      "main\\_rels\\text.xml.rels": `<Relationships><Relationship Id="a" Type="${relationTypes}/styles" Target="/main/looks.xml"/></Relationships>`,
      "main/looks.xml": `<${p}styles ${namespace}><${p}style ${id}="h"><${p}name ${value}="heading 2"/></${p}style></${p}styles>`,
      "main/text.xml": `<${p}document ${namespace}><${p}body><${p}p><${p}pPr><${p}pStyle ${value}="h"/></${p}pPr><${p}r><${p}t>walrus</${p}t></${p}r></${p}p></${p}body></${p}document>`,
    });
    expect(await textOf("a.docx", bytes)).toBe("## walrus");
  });

  it("has tables in cells, spanned columns, and charts", async () => {
    const cell = (text: string, properties = ""): string =>
      `<w:tc><w:tcPr>${properties}</w:tcPr><w:p>${run(text)}</w:p></w:tc>`;
    const inner = `<w:tbl><w:tr>${cell("monthly")}${cell("4200")}</w:tr></w:tbl>`;
    const table = `<w:tbl><w:tr>${cell("Plan", '<w:gridSpan w:val="2"/>')}${cell("Price")}</w:tr><w:tr>${cell("A")}${cell("B")}<w:tc>${inner}<w:p/></w:tc></w:tr></w:tbl>`;
    const bytes = packageOf({
      "word/document.xml": `<w:document xmlns:w="${W}"><w:body>${table}</w:body></w:document>`,
      "word/_rels/document.xml.rels": relationsOf(
        ["chart", "charts/chart1.xml"],
        ["aFChunk", "x.html"],
      ),
      "word/charts/chart1.xml": `<c:chartSpace xmlns:c="http://schemas.openxmlformats.org/drawingml/2006/chart" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><c:title><c:tx><a:p><a:r><a:t>Ibex report</a:t></a:r></a:p></c:tx></c:title></c:chartSpace>`,
    });
    const { text, warnings } = await read("a.docx", bytes);
    expect(text).toBe(
      "| Plan |  | Price |\n| --- | --- | --- |\n| A | B | monthly 4200 |\n\nIbex report",
    );
    expect(warnings).toEqual([
      { code: "part_not_read", message: '"word/x.html" is an embedded document' },
    ]);
  });
});

describe("PPTX", () => {
  it("of PptxGenJS: the table below the title, merged cells, notes and charts", async () => {
    expect(await textOf("a.pptx", bytesOf(pptxGenJsPptx))).toBe(
      [
        "## Slide 1: Quarterly pricing",
        "| Plan | Price |\n| --- | --- |\n| Enterprise | 4200 |\n| Enterprise | 4300 |",
        "Notes: Mention the narwhal budget.",
        "## Slide 2: Ferries",
        "Tamarin report",
        "|  | Passengers |\n| --- | --- |\n| Ibex line | 120 |\n| Kudu line | 80.5 |",
      ].join("\n\n"),
    );
  });

  it("has diagrams and comments, and loses a slide that is missing alone", async () => {
    const A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"';
    const bytes = packageOf({
      "ppt/presentation.xml": `<p:presentation><p:sldIdLst><p:sldId r:id="r0"/><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>`,
      "ppt/_rels/presentation.xml.rels": relationsOf(
        ["slide", "slides/slide1.xml"],
        ["slide", "slides/slide2.xml"],
      ),
      "ppt/slides/slide1.xml": "<p:sld/>",
      "ppt/slides/_rels/slide1.xml.rels": relationsOf(
        ["diagramData", "../diagrams/data1.xml"],
        ["comments", "../comments/one.xml"],
        ["comments", "../comments/two.xml"],
      ),
      "ppt/diagrams/data1.xml": `<dgm:dataModel ${A}><dgm:pt><dgm:t><a:p><a:r><a:t>Step tamarin</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:dataModel>`,
      "ppt/comments/one.xml": "<p:cmLst><p:cm><p:text>Older remark</p:text></p:cm></p:cmLst>",
      "ppt/comments/two.xml": `<p188:cmLst ${A}><p188:txBody><a:p><a:r><a:t>Newer remark</a:t></a:r></a:p></p188:txBody></p188:cmLst>`,
    });
    const { text, warnings } = await read("a.pptx", bytes);
    expect(text).toBe(
      "## Slide 1\n\n- Step tamarin\n\nComment: Older remark\n\nComment: Newer remark\n\n## Slide 2",
    );
    expect(warnings).toEqual([
      { code: "part_not_read", message: '"ppt/slides/slide2.xml" is missing', page: 2 },
    ]);
  });
});

describe("XLSX", () => {
  it("of LibreOffice: merged cells in each row, results, dates, comments", async () => {
    expect(await textOf("a.xlsx", bytesOf(libreOfficeXlsx))).toBe(
      "## Prices\n\n| Region | Product | Price | Since |\n| --- | --- | --- | --- |\n| Europe | Anvil | 9.99 | 2026-03-14 |\n| Europe | Rocket | 0.3 | 2026-04-01 |\n\nComment on B2: Check the capybara",
    );
  });

  it("of openpyxl: charts, and a warning of the result that was never stored", async () => {
    const { text, warnings } = await read("a.xlsx", bytesOf(openpyxlXlsx));
    expect(text).toContain("| Europe | Rocket |  | 2026-04-01 09:30:00 |\n\nNumbat sales\n\n");
    expect(warnings).toEqual([
      { code: "value_missing", message: 'sheet "Prices": formulas without a stored result: 1' },
    ]);
  });

  it("is read with any prefix, and has conversations instead of their placeholders", async () => {
    const X = 'xmlns:x="http://purl.oclc.org/ooxml/spreadsheetml/main"';
    const bytes = packageOf({
      "xl/workbook.xml": `<x:workbook ${X}><x:sheets><x:sheet name="Costs" r:id="r0"/></x:sheets></x:workbook>`,
      "xl/_rels/workbook.xml.rels": relationsOf(["worksheet", "/xl/sheet.xml"]),
      "xl/sheet.xml": `<x:worksheet ${X}><x:sheetData><x:row><x:c t="inlineStr"><x:is><x:t>wallaby rent</x:t></x:is></x:c><x:c t="d"><x:v>2026-03-14</x:v></x:c></x:row></x:sheetData></x:worksheet>`,
      "xl/_rels/sheet.xml.rels": relationsOf(["comments", "c.xml"], ["threadedComment", "t.xml"]),
      "xl/c.xml": `<comments><comment ref="A1"><text><t>[Threaded comment] Your version of Excel</t></text></comment></comments>`,
      "xl/t.xml": `<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments"><threadedComment ref="A1"><text>Too high?</text></threadedComment></ThreadedComments>`,
    });
    expect(await textOf("a.xlsx", bytes)).toBe(
      "## Costs\n\n| wallaby rent | 2026-03-14 |\n| --- | --- |\n\nComment on A1: Too high?",
    );
  });
});

/** A book of chapters by their paths; `names` are those of the manifest. */
function epubOf(
  chapters: Readonly<Record<string, string>>,
  names = Object.keys(chapters),
  type = "application/xhtml+xml",
): Uint8Array {
  const items = names.map((name, n) => `<item id="i${n}" href="${name}" media-type="${type}"/>`);
  return packageOf({
    "META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    "OEBPS/book.opf": `<opf:package xmlns:opf="http://www.idpf.org/2007/opf"><opf:manifest>${items.join("").replaceAll("<item", "<opf:item")}</opf:manifest><opf:spine>${names.map((_, n) => `<opf:itemref idref="i${n}"/>`).join("")}</opf:spine></opf:package>`,
    ...Object.fromEntries(Object.entries(chapters).map(([path, text]) => [`OEBPS/${path}`, text])),
  });
}

describe("EPUB", () => {
  it("of LibreOffice: words without the numbers of notes and without soft hyphens", async () => {
    const text = await textOf("a.epub", bytesOf(libreOfficeEpub));
    expect(text).toContain("The contract ends in May 1 and");
    expect(text).toContain("runs software.");
    expect(text).toContain("Except for the pangolin clause.");
  });

  it("has chapters whatever their names end with, and names with a bare per cent sign", async () => {
    const chapters = {
      "one.xml": "<p>lynx</p>",
      "100% real.xhtml": "<p>bobcat</p>",
      "drei ü.html": "<p>civet</p>",
    };
    const names = ["one.xml", "100% real.xhtml", "drei%20%C3%BC.html"];
    expect(await textOf("a.epub", epubOf(chapters, names))).toBe("lynx\n\nbobcat\n\ncivet");
  });

  it("is XML: a slash ends an element, and CDATA is text", async () => {
    const page = `<html><head><style/><title/></head><body><object data="a.svg"/><p>lynx <![CDATA[& co]]></p><a id="p2"/><p>bobcat</p></body></html>`;
    expect(await textOf("a.epub", epubOf({ "one.xhtml": page }))).toBe("lynx & co\n\nbobcat");
  });

  it("loses only the chapter that cannot be read, and names it", async () => {
    const book = unzipSync(
      epubOf({ "one.xhtml": "<p>lynx</p>", "two.xhtml": `<p>${"bobcat ".repeat(99)}</p>` }, [
        "one.xhtml",
        "two.xhtml",
        "three.xhtml",
      ]),
    );
    const zipped = zipSync(book);
    const name = strToU8("OEBPS/two.xhtml");
    const at = strFromU8(zipped, true).indexOf(strFromU8(name, true)) + name.length;
    zipped.fill(0xff, at, at + 8);
    const { text, warnings } = await read("a.epub", zipped);
    expect(text).toBe("lynx");
    expect(warnings).toEqual([
      { code: "part_not_read", message: '"OEBPS/two.xhtml" is damaged' },
      { code: "part_not_read", message: '"OEBPS/three.xhtml" is missing' },
    ]);
    await expect(read("b.epub", epubOf({}, ["one.xhtml"]))).rejects.toThrow(
      /no chapter can be read: "OEBPS\/one.xhtml" is missing/u,
    );
  });

  it("says which chapters are encrypted", async () => {
    const book = unzipSync(epubOf({ "one.xhtml": "<p>lynx</p>", "two.xhtml": "sealed" }));
    book["META-INF/encryption.xml"] = strToU8(
      `<encryption xmlns:enc="http://www.w3.org/2001/04/xmlenc#"><enc:EncryptedData><enc:CipherData><enc:CipherReference URI="OEBPS/two.xhtml"/></enc:CipherData></enc:EncryptedData></encryption>`,
    );
    const { text, warnings } = await read("a.epub", zipSync(book));
    expect([text, warnings]).toEqual([
      "lynx",
      [{ code: "part_not_read", message: '"OEBPS/two.xhtml" is encrypted' }],
    ]);
  });
});
