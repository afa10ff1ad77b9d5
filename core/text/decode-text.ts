/** Bytes that are decoded between two yields: a few milliseconds of work. */
const STEP = 262_144;

/** Bytes at the beginning in which a document may name its charset (HTML, "prescan a byte stream"). */
const PRESCAN = 1024;

/**
 * Decodes a document as a browser does: by its byte order mark, then by the charset of its `content-type`, then by what
 * its markup says. A document that says nothing is UTF-8 if it is valid as that, else windows-1252.
 */
export function* decodeText(bytes: Uint8Array, contentType: string): Generator<void, string, void> {
  const said = saidCharset(bytes, contentType);
  if (said !== null) return yield* decodeWith(new TextDecoder(said), bytes);
  try {
    return yield* decodeWith(new TextDecoder("utf-8", { fatal: true }), bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return yield* decodeWith(new TextDecoder("windows-1252"), bytes);
  }
}

/** Returns the charset that a document names by its mark, its `content-type` or its markup; null when it names none. */
export function saidCharset(bytes: Uint8Array, contentType: string): string | null {
  return charsetOfMark(bytes) ?? known(charsetOf(contentType)) ?? known(prescan(bytes));
}

/** Decodes bytes step by step. Throws a `TypeError` for invalid ones if the decoder is `fatal`. */
export function* decodeWith(
  decoder: TextDecoder,
  bytes: Uint8Array,
): Generator<void, string, void> {
  let text = "";
  for (let at = 0; at < bytes.length; at += STEP) {
    if (at > 0) yield;
    text += decoder.decode(bytes.subarray(at, at + STEP), { stream: true });
  }
  return text + decoder.decode();
}

/** Returns the charset of a byte order mark; null without one. */
export function charsetOfMark(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return "utf-8";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  return bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : null;
}

function charsetOf(contentType: string): string {
  return /;\s*charset\s*=\s*"?(?<name>[^\s;"]+)/iu.exec(contentType)?.groups?.["name"] ?? "";
}

/** `<meta charset=…>`, `<meta http-equiv=content-type content="…;charset=…">` and `<?xml encoding="…"?>` all match. */
function prescan(bytes: Uint8Array): string {
  const beginning = new TextDecoder("windows-1252").decode(bytes.subarray(0, PRESCAN));
  const said =
    /^<\?xml\b[^>]{0,200}?encoding\s*=\s*["'](?<name>[^\s"'>]+)/u.exec(beginning) ??
    /<meta\b[^>]{0,500}?charset\s*=\s*["']?\s*(?<name>[^\s;"'/>]+)/iu.exec(beginning);
  const name = said?.groups?.["name"] ?? "";
  // A declaration that reads as single bytes does not stand in a UTF-16 document.
  return /^utf-16/iu.test(name) ? "utf-8" : name;
}

/** A charset that this runtime can decode; null for others. */
function known(label: string): string | null {
  if (label === "") return null;
  try {
    return new TextDecoder(label).encoding;
  } catch {
    return null;
  }
}
