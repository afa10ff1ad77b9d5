import { ApiError } from "../../http/api-error.ts";
import { type CdpData, CdpError } from "../cdp/cdp.ts";
import { evaluate } from "../page/evaluate.ts";
import { contentHeight } from "../page/scripts/page-scripts.ts";
import type { Page } from "../page/page.ts";

/** Inches of the longest page that a PDF can have without a unit of its own (ISO 32000-1, annex C). */
const LONGEST = 200;
const PIXELS = 96;
/** A window of this height does not make a short document longer. */
const LOW = 16;
/** Lengths that are tried, and what each is longer than the one before: pixels, and a share of it. */
const ATTEMPTS = 5;
const MORE_PIXELS = 24;
const MORE_SHARE = 0.01;

/** Lays a document out as wide as its paper is, in the medium in which it is printed. */
export async function layOutForPaper(
  page: Page,
  parameters: CdpData,
  medium: string | undefined,
): Promise<void> {
  const width = Math.max(1, Math.floor(printable(parameters) * PIXELS));
  if (medium === undefined) await page.call("Emulation.setEmulatedMedia", { media: "print" });
  await page.call("Emulation.setDeviceMetricsOverride", {
    width,
    height: LOW,
    deviceScaleFactor: 1,
    mobile: false,
  });
}

/**
 * Returns the parameters with which a document that is laid out for its paper is one page. How long it has to be is tried:
 * print collapses margins and rounds in other ways than the window.
 *
 * @throws ApiError `page_too_large`
 */
export async function onOnePage(
  page: Page,
  parameters: CdpData,
  signal: AbortSignal,
): Promise<CdpData> {
  const { scale, marginTop, marginRight, marginBottom, marginLeft } = parameters;
  // Margins of the page's own would win over those of the options, and are not in the height of the paper.
  const margins = [marginTop, marginRight, marginBottom, marginLeft];
  const rule = `@page { margin: ${margins.map((inches) => `${Number(inches)}in`).join(" ")} !important; size: auto !important }`;
  let pixels = (await evaluate(page, contentHeight, [rule], signal)) + 1;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const height = (pixels / PIXELS) * Number(scale) + Number(marginTop) + Number(marginBottom);
    if (height > LONGEST)
      throw tooLong(
        `The page would be ${Math.ceil(height)} inches long, and ${LONGEST} is the most`,
      );
    const paper = { paperWidth: widthOf(parameters), paperHeight: height, landscape: false };
    const single = { ...parameters, ...paper };
    if (!(await hasSecondPage(page, single))) return single;
    pixels += Math.ceil(MORE_PIXELS + pixels * MORE_SHARE);
  }
  throw tooLong("The content grows with the page, as lengths in vh do");
}

function tooLong(reason: string): ApiError {
  return new ApiError("page_too_large", {
    message: `pdfOptions.singlePage: ${reason}: print several pages, or give a smaller scale`,
  });
}

async function hasSecondPage(page: Page, parameters: CdpData): Promise<boolean> {
  try {
    const { stream } = await page.call("Page.printToPDF", {
      ...parameters,
      pageRanges: "2",
      generateTaggedPDF: false,
      generateDocumentOutline: false,
      transferMode: "ReturnAsStream",
    });
    if (typeof stream === "string")
      page.call("IO.close", { handle: stream }).catch(() => undefined);
    return true;
  } catch (error) {
    if (error instanceof CdpError && /page range/iu.test(error.message)) return false;
    throw error;
  }
}

function widthOf({ landscape, paperWidth, paperHeight }: CdpData): number {
  return Number(landscape === true ? paperHeight : paperWidth);
}

/** Inches between the margins, as the document sees them. */
function printable(parameters: CdpData): number {
  const { marginLeft, marginRight, scale } = parameters;
  return (widthOf(parameters) - Number(marginLeft) - Number(marginRight)) / Number(scale);
}
