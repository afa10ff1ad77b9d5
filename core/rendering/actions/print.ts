import { ApiError } from "../../http/api-error.ts";
import { bytePieces, joinInParts } from "../../http/stream.ts";
import { type CdpData, CdpError } from "../cdp/cdp.ts";
import { tooLarge, type WantedText } from "../page/evaluate-text.ts";
import type { Action } from "../page/render.ts";
import type { Page } from "../page/page.ts";
import type { PdfBody } from "../input/body.ts";
import { bytesOf, capture, lookForGlyphs, transparent } from "./actions.ts";
import type { OnMissingFonts } from "../input/missing-fonts.ts";
import { layOutForPaper, onOnePage } from "./one-page.ts";
import { printParameters } from "./pdf-options.ts";
import { NOT_LOADED, templateFiles } from "./template-files.ts";
import { waitForFiles } from "../page/wait-for-files.ts";

/** Bytes of a PDF that comes in parts. One that comes in a message has fewer: what that takes. */
export const PDF_LIMIT = 100_000_000;

/** Bytes of a part: a message of a megabyte, which is parsed and decoded in a few milliseconds. */
const PART = 768 * 1024;

const wanted: WantedText = {
  action: "pdf",
  what: "The PDF",
  hint: "print parts with pdfOptions.pageRanges, or smaller pictures",
};

/** Prints the page; the bytes of a PDF. */
export function printAction(
  { pdfOptions: options = {}, emulateMediaType }: PdfBody,
  onMissing: OnMissingFonts,
): Action<Uint8Array<ArrayBuffer>> {
  const asked = printParameters(options);
  const isSingle = options.singlePage === true;
  return async (page, { drawable }, signal) => {
    const unloaded = await templateFiles(options);
    if (isSingle) await layOutForPaper(page, asked, emulateMediaType);
    await waitForFiles(page, signal, true);
    if (page.files.isWaiting && page.filesMs > 0) {
      // Chromium would wait for them once more, for two seconds.
      page.files.noteLate();
      await page.call("Page.stopLoading");
    }
    // Puppeteer's users rely on the wait for fonts. With scripts off its promise would never be settled.
    if (!drawable) await lookForGlyphs(page, page.hasScripts, onMissing, signal);
    if (options.omitBackground === true) await transparent(page);
    const parameters = isSingle ? await onOnePage(page, asked, signal) : asked;
    const printed = await print(page, { ...parameters, transferMode: "ReturnAsStream" });
    page.files.noteLate();
    for (const file of unloaded) page.files.noteRefused(file, NOT_LOADED);
    const { stream } = printed;
    const bytes = typeof stream === "string" ? await readStream(page, stream, signal) : null;
    if (bytes !== null) return bytes;
    // A browser that gives no parts gives a message, which is bounded.
    const whole = typeof stream === "string" ? await print(page, parameters) : printed;
    return bytesOf(String(whole["data"]), page.system, signal);
  };
}

function print(page: Page, parameters: CdpData): Promise<CdpData> {
  return capture(page, "Page.printToPDF", () => wanted, parameters).catch((error: unknown) => {
    const text = error instanceof Error ? error.message : "";
    if (!/page range|content area|paper|margin/iu.test(text)) throw error;
    throw new ApiError("invalid_request", {
      message: `pdfOptions: ${text.slice(0, 200)}`,
      cause: error,
    });
  });
}

/**
 * All bytes of what the browser keeps for us, which then lets go of it; null when it reads nothing. After an abort the session takes
 * no calls: what is kept ends with its page.
 *
 * @throws ApiError `page_too_large`
 */
async function readStream(
  page: Page,
  handle: string,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const read = (): Promise<CdpData> => page.call("IO.read", { handle, size: PART });
  const pieces = bytePieces();
  try {
    // The end of a stream comes by itself: asked for beforehand it costs a small PDF no further round trip.
    let next = read();
    for (let isOver = false; !isOver;) {
      const after = read();
      after.catch(() => undefined);
      const part = await next;
      pieces.add(await bytesOf(String(part["data"]), page.system, signal));
      if (pieces.size > PDF_LIMIT)
        throw tooLarge(wanted, `more than ${PDF_LIMIT} bytes`, PDF_LIMIT);
      isOver = part["eof"] === true;
      next = after;
    }
    return await joinInParts(pieces.list, page);
  } catch (error) {
    if (pieces.size === 0 && error instanceof CdpError) return null;
    throw error;
  } finally {
    page.call("IO.close", { handle }).catch(() => undefined);
  }
}
