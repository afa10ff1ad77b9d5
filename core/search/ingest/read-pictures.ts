import { ApiError } from "../../http/api-error.ts";
import type { DocumentText } from "../read/file-reader.ts";
import type { FileWarning } from "../read/file-warning.ts";
import type { PictureFinder } from "../read/page-pictures.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { Ocr, OcrPicture, WorkOptions } from "../models/search-deps.ts";

/** Pages of one file whose pictures are read. */
const MAX_SCANS = 100;
/** Milliseconds after which no further page of a file is read: others wait, and some runtimes end what takes longer. */
const FILE_MS = 600_000;
/** Pages that are read at a time. */
const LANES = 4;
/** Characters that one picture may have. */
const MAX_TEXT = 100_000;

/** Reads pictures until the signal ends it. */
export interface PictureReading {
  readonly ocr: Ocr;
  readonly signal: AbortSignal;
}

/** Inputs of {@link readScans} beside the document. */
export interface ScanReading {
  readonly reading: PictureReading;
  readonly finder: PictureFinder;
  readonly deps: WorkOptions;
}

/** The texts of pages that hold pictures alone, and why some have none. */
export interface ReadScans {
  /** By the number of the page. */
  readonly scans: Readonly<Record<string, string>>;
  readonly warnings: readonly FileWarning[];
}

/**
 * Reads the pictures of the pages that have no text. A page that fails is named in a warning, and the others are read. Throws
 * when the document has no other text, and none of its pages could be read: a later attempt may find the model there.
 */
export async function readScans(
  bytes: Uint8Array,
  { blankPages = [], text }: DocumentText,
  { reading, finder, deps }: ScanReading,
): Promise<ReadScans> {
  const { background, system } = deps.platform;
  const { signal } = reading;
  const scans: Record<string, string> = {};
  const warnings: FileWarning[] = [];
  let failure: ApiError | null = null;
  const lost = (page: number, message: string): void =>
    void warnings.push({ code: "picture_not_read", message, page });
  const until = system.monotonic() + FILE_MS;
  const waiting = blankPages.slice(0, MAX_SCANS).toReversed();
  const lane = async (): Promise<void> => {
    for (let page = waiting.pop(); page !== undefined; page = waiting.pop()) {
      if (system.monotonic() > until) {
        lost(page, `no picture is read after ${FILE_MS / 1000} s, nor of the pages that follow`);
        waiting.length = 0;
        return;
      }
      try {
        const input = { bytes: new Uint8Array(bytes), page };
        const { pictures, left } = await background.run(finder, input, signal, deps.owner);
        if (left > 0) lost(page, `${left} of its pictures were not read`);
        const texts: string[] = [];
        for (const picture of pictures)
          texts.push((await textOfPicture(reading, { bytes: picture, type: "image/png" })).trim());
        scans[page] = texts.filter((one) => one !== "").join("\n\n");
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof ApiError && error.status >= 500) failure ??= error;
        lost(page, error instanceof ApiError ? error.message : "its pictures could not be read");
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  if (failure !== null && text.trim() === "" && Object.keys(scans).length === 0) throw failure;
  const [first] = blankPages.slice(MAX_SCANS);
  if (first !== undefined)
    lost(first, `of more than ${MAX_SCANS} pages with pictures alone, the others were not read`);
  warnings.sort((a, b) => (a.page ?? 0) - (b.page ?? 0));
  return { scans, warnings };
}

/** Whether an instance has its pictures read. */
export function usesOcr({ indexing_options: options }: InstanceSettings): boolean {
  return options?.use_ocr === true;
}

export async function textOfPicture(
  { ocr, signal }: PictureReading,
  picture: OcrPicture,
): Promise<string> {
  const text: unknown = await ocr(picture, signal).catch((cause: unknown) => {
    signal.throwIfAborted();
    if (cause instanceof ApiError) throw cause;
    throw new ApiError("unavailable", { message: "its pictures could not be read", cause });
  });
  if (typeof text !== "string")
    throw new ApiError("unavailable", { message: "The reader of pictures returned no text" });
  return text.slice(0, MAX_TEXT).toWellFormed();
}
