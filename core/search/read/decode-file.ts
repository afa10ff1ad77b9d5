import { charsetOfMark, decodeWith, saidCharset } from "../../text/decode-text.ts";

/** Letters that were read well for each byte that was not, in UTF-8 with a few damaged places. */
const WELL_READ = 20;

/**
 * Decodes a text file by its mark, by the charset that its upload or its markup names, else as UTF-8. Null where only
 * a guess could decode it.
 */
export function* decodeFile(
  bytes: Uint8Array,
  contentType: string,
): Generator<void, string | null, void> {
  const said = saidCharset(bytes, contentType);
  // Clients declare any text as UTF-8: an invalid one has another encoding.
  if (said !== null && (said !== "utf-8" || charsetOfMark(bytes) !== null))
    return yield* decodeWith(new TextDecoder(said), bytes);
  const text = yield* decodeUtf8(bytes);
  // UTF-16 without a mark, and the escapes of ISO-2022-JP.
  const isOther = ["\0", "\u001B$@", "\u001B$B"].some((sign) => text?.includes(sign) === true);
  return isOther ? null : text;
}

function* decodeUtf8(bytes: Uint8Array): Generator<void, string | null, void> {
  try {
    return yield* decodeWith(new TextDecoder("utf-8", { fatal: true }), bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
  }
  const text = yield* decodeWith(new TextDecoder("utf-8"), bytes);
  const lost = count(text, /\uFFFD/gu);
  return lost * WELL_READ <= count(text, /[^\0-\u007F\uFFFD]/gu) ? text : null;
}

function count(text: string, sign: RegExp): number {
  return text.match(sign)?.length ?? 0;
}
