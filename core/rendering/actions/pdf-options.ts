import { ownMember } from "../../http/json.ts";
import { invalidRequest } from "../../http/api-error.ts";
import type { Length, PdfOptions } from "../input/body.ts";
import type { CdpData } from "../cdp/cdp.ts";

/** Sizes of the named paper formats in inches, portrait; the names and figures are Puppeteer's. */
const paperSizes: Readonly<Record<string, readonly [width: number, height: number]>> = {
  letter: [8.5, 11],
  legal: [8.5, 14],
  tabloid: [11, 17],
  ledger: [17, 11],
  a0: [33.1102, 46.811],
  a1: [23.3858, 33.1102],
  a2: [16.5354, 23.3858],
  a3: [11.6929, 16.5354],
  a4: [8.2677, 11.6929],
  a5: [5.8268, 8.2677],
  a6: [4.1339, 5.8268],
};

const pixelsPerUnit: Readonly<Record<string, number>> = { px: 1, in: 96, cm: 37.8, mm: 3.78 };

/** Inches that a side of the paper may have: twice A0, far above any printer and far below what exhausts memory. */
const SIDE_LIMIT = 100;

/**
 * The parameters of `Page.printToPDF` for `pdfOptions`, with Puppeteer's defaults and conversions.
 *
 * @throws ApiError `invalid_request` for what Chromium refuses or what would exhaust it
 */
export function printParameters(options: PdfOptions): CdpData {
  const [paperWidth, paperHeight] = paper(options);
  const margin = margins(options.margin ?? {});
  const scale = options.scale ?? 1;
  if (!(scale >= 0.1 && scale <= 2))
    throw invalidRequest(`pdfOptions.scale: ${scale} is outside 0.1 to 2`);
  const [width, height] =
    options.landscape === true ? [paperHeight, paperWidth] : [paperWidth, paperHeight];
  if (
    margin.marginLeft + margin.marginRight >= width ||
    margin.marginTop + margin.marginBottom >= height
  ) {
    throw invalidRequest("pdfOptions.margin: The margins leave no content area");
  }
  checkSinglePage(options);
  const outline = options.outline === true;
  return {
    ...margin,
    paperWidth,
    paperHeight,
    scale,
    landscape: options.landscape === true,
    displayHeaderFooter: options.displayHeaderFooter === true,
    headerTemplate: options.headerTemplate ?? "",
    footerTemplate: options.footerTemplate ?? "",
    printBackground: options.printBackground === true,
    preferCSSPageSize: options.preferCSSPageSize === true,
    pageRanges: pageRanges(options.pageRanges ?? ""),
    generateTaggedPDF: outline || options.tagged !== false,
    generateDocumentOutline: outline,
    transferMode: "ReturnAsBase64",
  };
}

/** One page has no other length than its content's, and no other pages beside it. */
function checkSinglePage(options: PdfOptions): void {
  if (options.singlePage !== true) return;
  for (const name of ["height", "pageRanges", "preferCSSPageSize"] as const) {
    const value = options[name];
    if (value === undefined || value === false || value === "") continue;
    throw invalidRequest(`pdfOptions.singlePage: Cannot be combined with ${name}`);
  }
}

function margins(
  margin: NonNullable<PdfOptions["margin"]>,
): Record<"marginTop" | "marginRight" | "marginBottom" | "marginLeft", number> {
  return {
    marginTop: inches("pdfOptions.margin.top", margin.top ?? 0),
    marginRight: inches("pdfOptions.margin.right", margin.right ?? 0),
    marginBottom: inches("pdfOptions.margin.bottom", margin.bottom ?? 0),
    marginLeft: inches("pdfOptions.margin.left", margin.left ?? 0),
  };
}

function paper(options: PdfOptions): readonly [width: number, height: number] {
  if (options.format !== undefined) {
    const name = options.format.toLowerCase();
    const size = ownMember(paperSizes, name);
    if (size === undefined) {
      throw invalidRequest(
        `pdfOptions.format: "${options.format.slice(0, 40)}" is unknown: use one of ${Object.keys(paperSizes).join(", ")}`,
      );
    }
    return size;
  }
  return [
    side("pdfOptions.width", options.width, 8.5),
    side("pdfOptions.height", options.height, 11),
  ];
}

function side(field: string, length: Length | undefined, fallback: number): number {
  if (length === undefined) return fallback;
  const value = inches(field, length);
  if (value <= 0 || value > SIDE_LIMIT)
    throw invalidRequest(`${field}: ${length} is outside 0 to ${SIDE_LIMIT} inches`);
  return value;
}

/** A length in inches. A string without a known unit is read as pixels, as Puppeteer does. */
function inches(field: string, length: Length): number {
  if (typeof length === "number") return length / 96;
  const text = length.trim().toLowerCase();
  const unit = pixelsPerUnit[text.slice(-2)];
  const value = unit === undefined ? text : text.slice(0, -2);
  const number = value.trim() === "" ? Number.NaN : Number(value);
  if (!Number.isFinite(number) || number < 0) {
    throw invalidRequest(
      `${field}: "${length.slice(0, 40)}" is not a length: use a number with px, in, cm or mm`,
    );
  }
  return (number * (unit ?? 1)) / 96;
}

/** Page ranges such as `1-5, 8, 11-13`; open ends are allowed, as in Chromium's print dialog. */
function pageRanges(text: string): string {
  const ranges = text.split(",").map((range) => range.trim());
  if (text.trim() === "") return "";
  for (const range of ranges) {
    const match = /^(?<from>\d{0,9})(?:\s*(?<dash>-)\s*(?<to>\d{0,9}))?$/u.exec(range)?.groups;
    const from = Number(match?.["from"] || 1);
    const to = match?.["dash"] === undefined ? from : Number(match["to"] || from);
    if (match === undefined || range === "" || range === "-" || from < 1 || to < from) {
      throw invalidRequest(
        `pdfOptions.pageRanges: "${text.slice(0, 60)}" is not a list of page ranges such as "1-5, 8"`,
      );
    }
  }
  return ranges.join(",");
}
