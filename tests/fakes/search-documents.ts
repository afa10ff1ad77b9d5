import { strToU8, zipSync } from "fflate";

/** A ZIP package of texts, by their paths. */
export function packageOf(files: Readonly<Record<string, string>>): Uint8Array {
  return zipSync(
    Object.fromEntries(Object.entries(files).map(([path, text]) => [path, strToU8(text)])),
    { level: 1 },
  );
}

const RELATIONS = `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">`;

/** A DOCX document as a German Word writes it: ids of styles are translated. */
export function docx(): Uint8Array {
  const style = (id: string, name: string): string =>
    `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/></w:style>`;
  const cell = (text: string): string => `<w:tc><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:tc>`;
  const row = (...cells: readonly string[]): string => `<w:tr>${cells.map(cell).join("")}</w:tr>`;
  const paragraph = (text: string, properties = ""): string =>
    `<w:p><w:pPr>${properties}</w:pPr><w:r><w:t xml:space="preserve">${text}</w:t></w:r></w:p>`;
  return packageOf({
    "word/styles.xml": `<w:styles>${style("berschrift1", "heading 1")}${style("berschrift2", "heading 2")}</w:styles>`,
    "word/document.xml": `<w:document><w:body>${[
      paragraph("Ferry guide", `<w:pStyle w:val="berschrift1"/>`),
      paragraph("Fares &amp; tickets", `<w:pStyle w:val="berschrift2"/>`),
      `<w:p><w:r><w:t>The ferry leaves </w:t></w:r><w:r><w:t>at noon.</w:t></w:r></w:p>`,
      paragraph("Bring a coat", "<w:numPr/>"),
      `<w:tbl>${row("Class", "Price")}${row("Deck", "12 | 14")}</w:tbl>`,
    ].join("")}</w:body></w:document>`,
  });
}

/** A PPTX presentation whose slides are in another order than their files; `first` is the file of the first one. */
export function pptx(first = "slides/slide2.xml"): Uint8Array {
  const slide = (title: string, text: string): string =>
    `<p:sld><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>${title}</a:t></a:r></a:p></p:sp><p:sp><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:sp></p:sld>`;
  return packageOf({
    "ppt/presentation.xml": `<p:presentation><p:sldIdLst><p:sldId r:id="r2"/><p:sldId r:id="r1"/></p:sldIdLst></p:presentation>`,
    "ppt/_rels/presentation.xml.rels": `${RELATIONS}<Relationship Id="r1" Target="slides/slide1.xml"/><Relationship Id="r2" Target="/ppt/${first}"/></Relationships>`,
    "ppt/slides/slide1.xml": slide("Tides", "The tide turns at four."),
    "ppt/slides/slide2.xml": slide("Harbour", "Boats are moored here."),
  });
}

/** An XLSX workbook with shared, inline and missing cells. */
export function xlsx(): Uint8Array {
  return packageOf({
    "xl/workbook.xml": `<workbook><sheets><sheet name="Prices" sheetId="1" r:id="r1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${RELATIONS}<Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>`,
    "xl/sharedStrings.xml": `<sst><si><t>Fruit</t></si><si><r><t>Price</t></r><r><t> in EUR</t></r></si></sst>`,
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row r="2"><c r="A2" t="inlineStr"><is><t>Quince</t></is></c><c r="C2"><v>2.5</v></c></row></sheetData></worksheet>`,
  });
}

/** An EPUB book of two chapters. */
export function epub(): Uint8Array {
  return packageOf({
    "META-INF/container.xml": `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
    "OEBPS/book.opf": `<package><manifest><item id="b" href="two.xhtml"/><item id="a" href="one.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>`,
    "OEBPS/one.xhtml": "<html><body><h1>The whale</h1><p>Call me Ishmael.</p></body></html>",
    "OEBPS/two.xhtml": "<html><body><h1>The carpet bag</h1><p>I stuffed a shirt.</p></body></html>",
  });
}

/** A page of a PDF document: its line of text, and what it links to. */
export type PdfLine = string | { readonly text: string; readonly link: string };

/** A PDF document with a line of text on each page. */
export function pdf(...pages: readonly PdfLine[]): Uint8Array<ArrayBuffer> {
  const font = pages.length * 2 + 3;
  const lines = pages.map((page) => (typeof page === "string" ? { text: page, link: null } : page));
  const streams = lines.map(({ text, link }) => ({
    stream: `BT /F1 12 Tf 72 700 Td (${text}) Tj ET`,
    annotations:
      link === null
        ? ""
        : `/Annots [<< /Type /Annot /Subtype /Link /Rect [72 690 200 720] /A << /S /URI /URI (${link}) >> >>]`,
  }));
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, n) => `${n * 2 + 3} 0 R`).join(" ")}] >>`,
    ...streams.flatMap(({ stream, annotations }, n) => [
      `<< /Type /Page ${annotations} /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${n * 2 + 4} 0 R /Resources << /Font << /F1 ${font} 0 R >> >> >>`,
      `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
    ]),
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, n) => {
    const at = text.length;
    text += `${n + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const table = offsets.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const end = text.length;
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${end}\n%%EOF\n`;
  return new Uint8Array(strToU8(text, true));
}

/** The same with a password. */
export function lockedPdf(): Uint8Array<ArrayBuffer> {
  const lock = `<< /Filter /Standard /V 1 /R 2 /P -4 /O <${"41".repeat(32)}> /U <${"42".repeat(32)}> >>`;
  const text = new TextDecoder("latin1").decode(pdf("Secret"));
  return new Uint8Array(
    strToU8(text.replace("/Root 1 0 R", `/Root 1 0 R /Encrypt ${lock} /ID [<00> <00>]`), true),
  );
}

/** A mail with a part of HTML and an attachment. */
export const mail: string = [
  "From: Ada Lovelace <ada@example.com>",
  "To: charles@example.com",
  "Subject: =?utf-8?Q?The_engine=E2=80=99s_cards?=",
  "Date: Mon, 23 Nov 2026 10:00:00 +0000",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="x"',
  "",
  "--x",
  "Content-Type: text/html; charset=utf-8",
  "Content-Transfer-Encoding: quoted-printable",
  "",
  "<h2>Cards</h2><p>The punched cards arrive on Thursday=2E</p>",
  "--x",
  'Content-Type: application/octet-stream; name="cards.bin"',
  'Content-Disposition: attachment; filename="cards.bin"',
  "Content-Transfer-Encoding: base64",
  "",
  "AAEC",
  "--x--",
  "",
].join("\r\n");
