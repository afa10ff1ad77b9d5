import { strToU8, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { runToEnd } from "../../../core/work/background.ts";
import { fileReader, type ReadFileResult } from "../../../core/search/files/mod.ts";
import { coveringRows } from "../../../core/search/read/covering-rows.ts";
import { bytesOf } from "../../fakes/office-files.ts";
import {
  libreOfficeOdp,
  libreOfficeOds,
  libreOfficeOdt,
  libreOfficeRtf,
} from "../../fakes/open-documents.ts";

async function read(key: string, bytes: Uint8Array, contentType = ""): Promise<ReadFileResult> {
  const file = { key, contentType, bytes: new Uint8Array(bytes) };
  return runToEnd((await fileReader.load())(file));
}

async function textOf(key: string, bytes: Uint8Array): Promise<string> {
  const { text, warnings = [], format } = await read(key, bytes);
  expect([warnings, format]).toEqual([[], "markdown"]);
  return text;
}

const names = ["office", "text", "table", "presentation", "style"].map(
  (name) => `xmlns:${name}="urn:oasis:names:tc:opendocument:xmlns:${name}:1.0"`,
);
const draw = 'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"';
const type = "application/vnd.oasis.opendocument.";

/** An OpenDocument file with a body of one kind: `text`, `spreadsheet` or `presentation`. */
function odfOf(
  kind: string,
  body: string,
  parts: Readonly<Record<string, string>> = {},
): Uint8Array {
  const content = `<office:document-content ${names.join(" ")} ${draw}><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`;
  const all = { "content.xml": content, "styles.xml": "<x/>", ...parts };
  return zipSync({
    mimetype: [strToU8(`${type}${kind}`), { level: 0 }],
    ...Object.fromEntries(Object.entries(all).map(([name, xml]) => [name, strToU8(xml)])),
  });
}

const p = (text: string): string => `<text:p>${text}</text:p>`;
const cell = (text: string, attributes = ""): string =>
  `<table:table-cell ${attributes}>${text === "" ? "" : p(text)}</table:table-cell>`;
const row = (cells: string, attributes = ""): string =>
  `<table:table-row ${attributes}>${cells}</table:table-row>`;

/** What LibreOffice's documents of the same text say. */
const contract = [
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
].join("\n\n");

describe("OpenDocument", () => {
  it("text of LibreOffice: everything that a reader sees, once, where it belongs", async () => {
    expect(await textOf("a.odt", bytesOf(libreOfficeOdt))).toBe(`# Ferry contract\n\n${contract}`);
  });

  it("sheets of LibreOffice: tables, comments and charts", async () => {
    expect(await textOf("a.ods", bytesOf(libreOfficeOds))).toBe(
      [
        "## Prices",
        "| Region | Product | Price | Since |\n| --- | --- | --- | --- |\n| Europe | Anvil | 9.99 | 2026-03-14 |\n| Europe | Rocket | 0.3 | 2026-04-01T09:30:00 |",
        "Comment: Check the capybara",
        "Numbat sales",
        "|  | Price |\n| --- | --- |\n| 1 | 9.99 |\n| 2 | 0.3 |",
      ].join("\n\n"),
    );
  });

  it("has a chart below its sheet or where it is anchored, and others at the end, each once", async () => {
    const shown = (n: number): string =>
      `<draw:frame><draw:object xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="./Object ${n}"/></draw:frame>`;
    const line = (inner: string): string =>
      `<table:table-row><table:table-cell>${inner}</table:table-cell></table:table-row>`;
    const chart = (n: number) =>
      [
        `Object ${n}/content.xml`,
        `<office:document-content ${names.join(" ")}>${p(`chart ${n}`)}</office:document-content>`,
      ] as const;
    const charts = Object.fromEntries([1, 2, 3].map(chart));
    const sheets = `<table:table table:name="A"><table:shapes>${shown(2)}</table:shapes>${line(p("a"))}</table:table><table:table table:name="B">${line(p("b") + shown(1))}${line(shown(1))}</table:table>`;
    const sheet = await textOf("a.ods", odfOf("spreadsheet", sheets, charts));
    expect(sheet.split("\n\n").filter((block) => !block.startsWith("|"))).toEqual([
      "## A",
      "chart 2",
      "## B",
      "chart 1",
      "chart 3",
    ]);
    const text = `${p(`one ${shown(2)}`)}${p("two")}`;
    expect(await textOf("a.odt", odfOf("text", text, charts))).toBe(
      "one\n\nchart 2\n\ntwo\n\nchart 1\n\nchart 3",
    );
  });

  it("slides of LibreOffice: titles, lists, notes and tables, as pages", async () => {
    const { text, pages } = await read("a.odp", bytesOf(libreOfficeOdp));
    expect(text).toBe(
      [
        "## Slide 1: Harbour dues",
        "- Bring a wombat",
        "- and its papers",
        "Notes: Say it slowly, ocelot.",
        "## Slide 2: Fees",
        "| Region | Price |\n| --- | --- |\n| Europe | 4200 |",
      ].join("\n\n"),
    );
    expect(pages).toEqual([
      { number: 1, startByte: 0 },
      { number: 2, startByte: text.indexOf("## Slide 2") },
    ]);
  });

  it("is known by its first bytes, its media type and its name", async () => {
    const file = odfOf("text", p("walrus"));
    expect(await textOf("without-a-name", file)).toBe("walrus");
    const packed = zipSync({ "content.xml": strToU8("<x/>") });
    await expect(read("a", packed, `${type}text`)).resolves.toMatchObject({ text: "" });
    await expect(read("a.ods", packed)).resolves.toMatchObject({ text: "" });
  });

  it("has what was inserted, not what was deleted, and blanks as they are shown", async () => {
    const changes = `<text:tracked-changes><text:changed-region><text:deletion>${p("gone")}</text:deletion></text:changed-region></text:tracked-changes>`;
    const body = `${changes}${p('a\n  b<text:s text:c="2"/>c<text:tab/>d<text:line-break/>e\u00adf')}`;
    expect(await textOf("a.odt", odfOf("text", body))).toBe("a b  c d\nef");
  });

  it("has comments without an author, and text of shapes behind its paragraph", async () => {
    const shape = `<draw:custom-shape>${p("box")}</draw:custom-shape>`;
    const body = p(`one <office:annotation>${p("why")}</office:annotation>${shape}two`);
    expect(await textOf("a.odt", odfOf("text", body))).toBe("one two\n\nComment: why\n\nbox");
  });

  it("has the text of a merged cell in all that it covers, and tables in cells", async () => {
    const inner = `<table:table>${row(cell("x") + cell("y"))}${row(cell("z"))}</table:table>`;
    const table = `<table:table>${[
      row(
        cell("Plan", 'table:number-columns-spanned="2"') +
          "<table:covered-table-cell/>" +
          cell("Price"),
      ),
      row(
        cell("A", 'table:number-rows-spanned="2"') +
          cell("B") +
          `<table:table-cell>${inner}</table:table-cell>`,
      ),
      row(
        `<table:covered-table-cell>${p("old")}</table:covered-table-cell>${cell("C")}${cell("9")}`,
      ),
    ].join("")}</table:table>`;
    expect(await textOf("a.odt", odfOf("text", table))).toBe(
      "| Plan | Plan | Price |\n| --- | --- | --- |\n| A | B | x y; z |\n| A | C | 9 |",
    );
  });

  it("is refused with a password", async () => {
    const manifest =
      '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry m:full-path="content.xml"><m:encryption-data/></m:file-entry></m:manifest>';
    const file = odfOf("text", p("x"), { "META-INF/manifest.xml": manifest });
    await expect(read("a.odt", file)).rejects.toThrow("protected by a password");
  });

  it("says which part could not be read", async () => {
    const xml = `<office:text ${names.join(" ")}>${p("walrus")}</office:text>`;
    const file = zipSync({ "content.xml": strToU8(xml) });
    const { text, warnings } = await read("a.odt", file);
    expect(text).toBe("walrus");
    expect(warnings).toEqual([{ code: "part_not_read", message: '"styles.xml" is missing' }]);
  });

  it("is bounded, however often a cell, a row or a blank is repeated", async () => {
    const many = "999999999";
    const sheet = `<table:table>${[
      row(cell("a", `table:number-columns-repeated="${many}"`) + cell("beyond")),
      row(cell("b"), `table:number-rows-repeated="${many}"`),
      row(
        cell("", `table:number-columns-repeated="${many}"`),
        `table:number-rows-repeated="${many}"`,
      ),
      row(cell("c", `table:number-columns-spanned="${many}" table:number-rows-spanned="${many}"`)),
    ].join("")}</table:table>`;
    const text = await textOf("a.ods", odfOf("spreadsheet", sheet));
    const rows = text.split("\n").slice(2);
    expect(rows).toHaveLength(1003);
    expect(rows[0]?.match(/ a /gu)).toHaveLength(200);
    let taken = 0;
    const grid = coveringRows({ take: (characters) => void (taken += characters) });
    grid.begin();
    grid.add("d", { columns: 1, rows: 1, repeated: 1 });
    grid.end(Number(many));
    // Before there is a text to count: each of them is a place in memory.
    expect(taken).toBe(1001);
    const blanks = p(`x${`<text:s text:c="${many}"/>`.repeat(3)}y`);
    expect(await textOf("a.odt", odfOf("text", blanks))).toBe(`x${" ".repeat(300)}y`);
    const deep = "<text:span>".repeat(600);
    await expect(read("a.odt", odfOf("text", deep))).rejects.toThrow("512 levels");
    const wide = row(cell("x".repeat(100_000), 'table:number-columns-repeated="200"'));
    await expect(
      read("a.ods", odfOf("spreadsheet", `<table:table>${wide}</table:table>`)),
    ).rejects.toThrow("more than 8388608 characters");
  });
});

/** A document of RTF with usual fonts and styles. */
function rtfOf(body: string): Uint8Array {
  return strToU8(
    String.raw`{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Times;}{\f2\fcharset128 Mincho;}}{\stylesheet{\s1\b Heading 1;}{\s2\outlinelevel1 Own;}{\s3 Normal;}}{\info{\title not shown}}${body}}`,
    true,
  );
}

describe("RTF", () => {
  it("of LibreOffice: everything that a reader sees, once, where it belongs", async () => {
    expect(await textOf("a.rtf", bytesOf(libreOfficeRtf))).toBe(`Ferry contract\n\n${contract}`);
  });

  it.each([
    [
      "headings by their styles and their level",
      String.raw`\s1 One\par\pard\s2 Two\par\pard\s3 three\par\pard\outlinelevel2 Four\par\pard five`,
      "# One\n\n## Two\n\nthree\n\n### Four\n\nfive",
    ],
    [
      "letters of the document's code page and of its fonts'",
      String.raw`Gr\'f6\'dfe {\f1\'cf\'f0\'e8\'e2\'e5\'f2} {\f2\'83A\'83C}`,
      "Größe Привет アイ",
    ],
    [
      "signs by their number, without what older programs show",
      String.raw`\u8364? {\uc2\u-10179\'3f\'3f\u-8704\'3f?}x{\uc0\u65y}`,
      "€ 😀xAy",
    ],
    [
      "words for signs",
      String.raw`a\~b\_c\-d\emdash e\lquote f\rquote\tab g\{\\\}`,
      "a b-cd—e‘f’ g{\\}",
    ],
    [
      "no hidden, deleted or moved text",
      String.raw`{\v secret }a{\deleted gone }b\v c\v0 d\v e\plain f`,
      "abdf",
    ],
    [
      "the text of links, no instruction",
      String.raw`{\field{\*\fldinst HYPERLINK "https://example.com"}{\fldrslt a link}}`,
      "a link",
    ],
    [
      "nothing of a picture",
      String.raw`a{\pict\pngblip\bin6 }}{\{{}b{\*\shppict{\pict 89504e47}}c`,
      "abc",
    ],
    ["lines, and paragraphs at the ends of lines", "a\\line b\\\nc\r\nd", "a\nb\n\ncd"],
    [
      "comments with their author",
      String.raw`a{\*\atnauthor Bea}{\*\annotation Why?} b\par c`,
      "a b\n\nComment by Bea: Why?\n\nc",
    ],
    [
      "tables",
      String.raw`\trowd\cellx1\cellx2\pard\intbl A\cell B\cell\row\trowd\clvmgf\cellx1\cellx2\pard\intbl C\par D\cell E\cell\row\trowd\clvmrg\cellx1\cellx2\pard\intbl\cell F\cell\row\pard after`,
      "| A | B |\n| --- | --- |\n| C D | E |\n| C D | F |\n\nafter",
    ],
    [
      "headers and footers once",
      String.raw`{\header Top\par}{\headerf Top\par}{\footer 1\par}a`,
      "a\n\nTop",
    ],
  ])("has %s", async (_, body, text) => {
    expect(await textOf("a.rtf", rtfOf(body))).toBe(text);
  });

  it("is known by its first bytes, and read as far as it goes where it is damaged", async () => {
    expect(await textOf("letter.doc", rtfOf("walrus"))).toBe("walrus");
    for (const [body, text] of [
      ["a}}}} b", "a b"],
      ["{{{a", "a"],
      [String.raw`a\bin999999 b`, "a"],
      [String.raw`a\'`, "a"],
      [String.raw`a\u99999999999999999999 ?\uc-5 b`, "ab"],
      ["a\\", "a"],
    ] as const)
      expect((await read("a.rtf", rtfOf(body).subarray(0, -1))).text).toBe(text);
  });

  it("is refused when its groups are nested too deep", async () => {
    await expect(read("a.rtf", rtfOf("{".repeat(100_000)))).rejects.toThrow("512 levels");
  });
});

describe("a document that is one XML file", () => {
  const flat = (kind: string, body: string, before = ""): Uint8Array =>
    strToU8(
      `<?xml version="1.0"?><office:document ${names.join(" ")} ${draw} office:mimetype="${type}text">${before}<office:body><office:${kind}>${body}</office:${kind}></office:body></office:document>`,
    );

  it("is read as a package is", async () => {
    const margins =
      "<office:master-styles><style:master-page><style:header><text:p>Header ocelot</text:p></style:header></style:master-page></office:master-styles>";
    const removed = `<text:tracked-changes><text:p>axolotl</text:p></text:tracked-changes>`;
    const body = `${removed}<text:h text:outline-level="2">Title</text:h>${p("Words of a quokka")}`;
    expect(await textOf("letter.fodt", flat("text", body, margins))).toBe(
      "## Title\n\nWords of a quokka\n\nHeader ocelot",
    );
    const sheet = `<table:table table:name="Prices">${row(cell("Ferry") + cell("12"))}</table:table>`;
    expect(await textOf("prices.fods", flat("spreadsheet", sheet))).toContain("| Ferry | 12 |");
  });

  it("is refused without a body", async () => {
    await expect(read("letter.odt", strToU8("Just a text"))).rejects.toThrow("holds no document");
  });
});
