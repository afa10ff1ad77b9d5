import { utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Background, LongTask } from "../../ports.ts";

/** An HTML document, for an extractor of main content. */
export type ExtractionRequest = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Its charset decides how the bytes are read. */
  readonly contentType: string;
};

/**
 * Finds the main content of a document, beside the event loop: a document of UTF-8 with the head's title, description,
 * picture and `base`, and the content as its body. Without any content it is the whole document.
 */
export type ContentExtractor = LongTask<ExtractionRequest, Uint8Array<ArrayBuffer>>;

/**
 * Returns the extractor for the content that a body asks for; null when it asks for none.
 *
 * @throws ApiError `missing_capability` where the operator brings nothing that does
 */
export function extractorFor(
  asked: "main" | undefined,
  extract: ContentExtractor | null | undefined,
): ContentExtractor | null {
  if (asked === undefined) return null;
  if (extract != null) return extract;
  throw new ApiError("missing_capability", {
    message: "extract: This server finds no main content: give rendering() the option extract",
    headers: { "x-should-retry": "false" },
  });
}

/** Whether the packages that it needs are there: it is tried on a page of one word. */
export async function isInstalled(
  extract: ContentExtractor,
  background: Background,
  signal: AbortSignal,
): Promise<boolean> {
  const page = { bytes: utf8("<p>Hello"), contentType: "text/html;charset=utf-8" };
  try {
    await background.run(extract, page, signal);
    return true;
  } catch (error) {
    if (error instanceof ApiError && error.kind === "missing_capability") return false;
    throw error;
  }
}
