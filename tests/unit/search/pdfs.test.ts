import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileReader } from "../../../core/search/files/mod.ts";
import { readHere } from "../../fakes/read-here.ts";
import { searchUnderTest, type SearchUnderTest } from "../../fakes/search-api.ts";
import { pdfOfParts, type PdfParts, shown } from "../../fakes/search-pdfs.ts";

let api: SearchUnderTest;
beforeAll(async () => {
  api = await searchUnderTest({ readFile: fileReader }, {}, undefined, {}, readHere);
});
afterAll(() => api.close());

async function read(key: string, parts: PdfParts) {
  const { status, body } = await api.upload(key, pdfOfParts(parts), { type: "" });
  if (status !== 200) return { text: "", warnings: [], refusal: body.errors[0]?.message };
  const found = await api.call("GET", `/instances/main/items/${body.result.id}/chunks`);
  const chunks = found.body.result.map((chunk) => ("text" in chunk ? String(chunk.text) : ""));
  return { text: chunks.join("\n\n"), warnings: body.result.warnings ?? [], refusal: undefined };
}

const field = (entries: string): string =>
  `<< /Type /Annot /Subtype /Widget /Rect [0 0 9 9] ${entries} >>`;

it("values of form fields and notes stand below the page's text", async () => {
  const { text } = await read("form.pdf", {
    catalog: "/AcroForm << /Fields [10 0 R 11 0 R 12 0 R 13 0 R 14 0 R] >>",
    objects: [
      field("/FT /Tx /T (name) /TU (Applicant) /V (Marguerite Okonkwo)"),
      field("/FT /Ch /T (plan) /Opt [[(a) (Basic)] [(b) (Enterprise)]] /V (b)"),
      field("/FT /Btn /T (agreed) /V /Yes /AS /Yes /AP << /N << /Yes 3 0 R /Off 3 0 R >> >>"),
      field("/FT /Btn /T (spam) /V /Off /AS /Off /AP << /N << /Yes 3 0 R /Off 3 0 R >> >>"),
      field("/FT /Tx /Ff 8192 /T (pin) /V (hidden quokka)"),
      "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /T (Bo) /Contents (A caracal note) >>",
      "<< /Type /Annot /Subtype /FreeText /Rect [0 0 99 9] /DA (/Helv 9 Tf) /Contents (A meerkat remark) >>",
    ],
    pages: [
      {
        content: shown([[50, 700, "Application:"]]),
        entries: "/Annots [10 0 R 11 0 R 12 0 R 13 0 R 14 0 R 15 0 R 16 0 R]",
      },
    ],
  });
  expect(text).toBe(
    "## Page 1\n\nApplication:\n\nBo: A caracal note\nA meerkat remark\nApplicant: Marguerite Okonkwo\nplan: Enterprise\nagreed: Yes",
  );
});

describe("words that are divided at the end of a line", () => {
  const lines = (...texts: readonly string[]): string =>
    shown(texts.map((text, n) => [50, 700 - 14 * n, text] as const));

  it("are joined, and keep hyphens of their own", async () => {
    const { text } = await read("hyphen.pdf", {
      pages: [
        {
          content: lines(
            "The environ-",
            "mental costs of desali-",
            "nation and of a well-",
            "known treaty",
          ),
        },
        {
          content: lines(
            "A cost-benefit study, the cost-",
            "benefit of Anglo-",
            "Saxon and 2025-",
            "2026 first- ",
            "and last ones",
          ),
        },
      ],
    });
    expect(text).toContain("The environmental costs of desalination and of a well-known treaty");
    expect(text).toContain("the cost-benefit of Anglo-Saxon and 2025-2026");
  });
});

const prose = (words: string): string[] =>
  Array.from({ length: 7 }, (_, n) => `Line ${n} of the ${words} goes on here`);

it("two columns that were written line by line are read one after the other, tables as they are", async () => {
  const rows = prose("left walrus").map((left, n) => [left, prose("right bird")[n] ?? ""] as const);
  const columns = rows.flatMap(([left, right], n) => [
    [50, 700 - 14 * n, left] as const,
    [320, 700 - 14 * n, right] as const,
  ]);
  const { text } = await read("columns.pdf", {
    pages: [
      {
        content: shown([
          [50, 740, "A title that stands over both of the two columns of text"],
          ...columns,
        ]),
      },
    ],
  });
  const after = [...prose("left walrus"), ...prose("right bird")].join("\n");
  expect(text).toBe(
    `## Page 1\n\nA title that stands over both of the two columns of text\n${after}`,
  );
  const cells = Array.from({ length: 8 }, (_, n) => [
    [50, 700 - 14 * n, `Fruit ${n}`] as const,
    [320, 700 - 14 * n, `${n} euros`] as const,
  ]).flat();
  const table = await read("table.pdf", { pages: [{ content: shown(cells) }] });
  expect(table.text).toContain("Fruit 3 3 euros\nFruit 4 4 euros");
});

it("a page that is turned reads as an upright one", async () => {
  const content = [0, 14]
    .map((x) => `BT /F1 11 Tf 0 1 -1 0 ${100 + x} 100 Tm (Okapi line ${x}.) Tj ET`)
    .join("\n");
  const { text } = await read("turned.pdf", { pages: [{ content, entries: "/Rotate 90" }] });
  expect(text).toBe("## Page 1\n\nOkapi line 0.\nOkapi line 14.");
});

it("pages without text are named", async () => {
  const blank = { content: "" };
  const { warnings } = await read("scan.pdf", {
    pages: [
      { content: shown([[50, 700, "Cover"]]) },
      blank,
      blank,
      { content: shown([[50, 700, "End"]]) },
      blank,
    ],
  });
  expect(warnings).toEqual([
    {
      code: "page_without_text",
      message: "pages 2-3, 5: no text, perhaps only pictures of it",
      page: 2,
    },
  ]);
});

it("an XFA form is refused by its name", async () => {
  const { refusal } = await read("xfa.pdf", {
    catalog: "/AcroForm << /Fields [] /XFA 10 0 R >>",
    objects: ["<< /Length 12 >>\nstream\n<xdp></xdp> \nendstream"],
    pages: [{ content: shown([[50, 700, "Please wait..."]]) }],
  });
  expect(refusal).toContain("it is an XFA form");
});

/** Letters in a font that is not in the file: what they mean stands in a character map of Adobe's. */
it("letters of Chinese and Japanese fonts that are not in the file are read, or named as missing", async () => {
  const font = (map: string, order: string): string =>
    `<< /Type /Font /Subtype /Type0 /BaseFont /SimSun /Encoding /${map} /DescendantFonts [<< /Type /Font /Subtype /CIDFontType2 /BaseFont /SimSun /CIDSystemInfo << /Registry (Adobe) /Ordering (${order}) /Supplement 2 >> /DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /SimSun /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>`;
  const { text, warnings } = await read("cjk.pdf", {
    objects: [font("GBK-EUC-H", "GB1"), font("90ms-RKSJ-H", "Japan1")],
    fonts: "/F2 10 0 R /F3 11 0 R",
    pages: [
      { content: shown([[50, 700, "Terms"]]) },
      { content: shown([[50, 700, "<cdcbbfeed5feb2df>"]], "F2") },
      { content: shown([[50, 700, "<95d48b70>"]], "F3") },
    ],
  });
  expect(text).toContain("Terms");
  // workerd has no files, from which the maps are read.
  if (process.env["CAUSEY_RUNTIME"] === "workers") {
    expect(warnings).toMatchObject([
      { code: "letters_missing", message: expect.stringContaining("GBK-EUC-H") },
      { code: "page_without_text", page: 2 },
    ]);
  } else {
    expect(warnings).toEqual([]);
    expect(text).toContain("退款政策");
    expect(text).toContain("返却");
  }
});

/** Helvetica whose letters "A", "B" … mean these texts. */
function fontOf(...meanings: readonly string[]): readonly [font: string, map: string] {
  const hex = (text: string): string =>
    Array.from({ length: text.length }, (_, n) => text.charCodeAt(n).toString(16).padStart(4, "0"))
      .join("")
      .toUpperCase();
  const rows = meanings.map((text, n) => `<${(65 + n).toString(16)}> <${hex(text)}>`);
  const map = `/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <00> <FF> endcodespacerange ${rows.length} beginbfchar\n${rows.join("\n")}\nendbfchar endcmap end`;
  return [
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 11 0 R >>",
    `<< /Length ${map.length} >>\nstream\n${map}\nendstream`,
  ];
}

/** Letters side by side, as programs write Arabic: each at its place. */
const letterByLetter = (line: string, y: number): string =>
  shown(
    Array.from(line, (letter, n) => [50 + 8 * n, y, letter] as const).filter(
      ([, , letter]) => letter !== " ",
    ),
    "F2",
  );

describe("lines that are read from the right", () => {
  // The word is "مرحبا", as browsers print it: its last letter stands first, each in the form in which it is drawn.
  const meanings = ["\uFE8E", "\uFE92", "\uFEA3", "\uFEAE", "\uFEE3", "(", ")", "7", "Q"];

  it("have the letters that people type, in the order of reading", async () => {
    const { text, warnings } = await read("arabic.pdf", {
      objects: fontOf(...meanings),
      fonts: "/F2 10 0 R",
      pages: [
        { content: [letterByLetter("ABCDE", 700), letterByLetter("FIG H ABCDE", 600)].join("\n") },
      ],
    });
    expect(text).toBe("## Page 1\n\nمرحبا\nمرحبا 7 ( Q )");
    expect(warnings).toEqual([]);
  });

  it("keep words of the other side, and stand within its lines", async () => {
    const { text } = await read("mixed.pdf", {
      objects: fontOf(...meanings),
      fonts: "/F2 10 0 R",
      pages: [{ content: letterByLetter("IIIIII ABCDE II", 700) }],
    });
    expect(text).toBe("## Page 1\n\nQ Q Q Q Q Q مرحبا Q Q");
  });
});

it("radicals and ligatures of fonts are the letters that people type", async () => {
  const { text, warnings } = await read("forms.pdf", {
    objects: fontOf("o", "\u001E", "ce", "\u2F1D", "\u001C", "led"),
    fonts: "/F2 10 0 R",
    pages: [
      {
        content: shown(
          [
            [50, 700, "ABC"],
            [50, 600, "D"],
            [50, 500, "EF"],
          ],
          "F2",
        ),
      },
    ],
  });
  expect(text).toBe("## Page 1\n\noffice\n口\nfiled");
  expect(warnings).toEqual([]);
});

it("letters that no font names are counted in a warning, bullets are not", async () => {
  const { warnings } = await read("nameless.pdf", {
    objects: fontOf("\uE123", "o", "\u0000", "\uF0B7"),
    fonts: "/F2 10 0 R",
    pages: [
      { content: shown([[50, 700, "D"]], "F2") },
      {
        content: shown(
          [
            [50, 700, "BAB"],
            [50, 600, "CC"],
          ],
          "F2",
        ),
      },
    ],
  });
  expect(warnings).toEqual([
    {
      code: "letters_missing",
      message: "page 2: fonts do not say what 3 of their letters are, which are missing or wrong",
      page: 2,
    },
  ]);
});
