/** A PDF of pages, each of its content stream and of further entries of its dictionary. */
export interface PdfParts {
  readonly pages: readonly { readonly content: string; readonly entries?: string }[];
  /** Entries of the catalog. */
  readonly catalog?: string;
  /** Objects from number 10 on, such as fonts and fields. Pages have the font `F1`, which is Helvetica. */
  readonly objects?: readonly string[];
  /** The fonts of the pages beside `F1`, e.g. `/F2 10 0 R`. */
  readonly fonts?: string;
}

/** Writes a PDF; every character of it is one byte. */
export function pdfOfParts(parts: PdfParts): Uint8Array<ArrayBuffer> {
  const { pages, catalog = "", objects = [], fonts = "" } = parts;
  const first = 10 + objects.length;
  const numbered = new Map<number, string>([
    [1, `<< /Type /Catalog /Pages 2 0 R ${catalog} >>`],
    [
      2,
      `<< /Type /Pages /Count ${pages.length} /Kids [${pages.map((_, n) => `${first + 2 * n} 0 R`).join(" ")}] >>`,
    ],
    [3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"],
    ...objects.map((object, n) => [10 + n, object] as const),
    ...pages.flatMap(({ content, entries = "" }, n) => [
      [
        first + 2 * n,
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${first + 2 * n + 1} 0 R /Resources << /Font << /F1 3 0 R ${fonts} >> >> ${entries} >>`,
      ] as const,
      [
        first + 2 * n + 1,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ] as const,
    ]),
  ]);
  const body = [...numbered].map(([n, object]) => `${n} 0 obj\n${object}\nendobj\n`).join("");
  const text = `%PDF-1.7\n${body}trailer\n<< /Root 1 0 R >>\n%%EOF\n`;
  return Uint8Array.from(text, (sign) => sign.charCodeAt(0));
}

/** Shows lines of text, each at its place. */
export function shown(
  lines: readonly (readonly [x: number, y: number, text: string])[],
  font: string = "F1",
): string {
  return lines
    .map(([x, y, text]) => {
      const written = text.startsWith("<") ? text : `(${text})`;
      return `BT /${font} 11 Tf ${x} ${y} Td ${written} Tj ET`;
    })
    .join("\n");
}
