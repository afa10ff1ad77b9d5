import { chardet } from "jschardet";
import { decodeWith } from "../../text/decode-text.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { refused } from "../read/refused.ts";

/** Decodes a text that does not say its charset as the one that it is most like, and says so in a warning. */
export function* guessedText(
  bytes: Uint8Array<ArrayBuffer>,
  budget: TextBudget,
): Generator<void, DocumentText, void> {
  const charset = guessCharset(bytes);
  if (charset === null) throw refused("the file holds bytes that are not text");
  yield;
  const text = yield* decodeWith(new TextDecoder(charset), bytes);
  budget.take(text.length);
  const message = `read as ${charset}, which was guessed: upload it with its charset, such as "text/plain; charset=${charset}", if letters are wrong`;
  return { text, warnings: [{ code: "charset_guessed", message }] };
}

/** Bytes of a text that are looked at, and those before its first letter that is not ASCII. */
const SAMPLE = 65_536;
const BEFORE = 2048;

/** Labels of the Encoding Standard, which every runtime decodes, by the detector's names for charsets that are still met. */
const LABELS: ReadonlyMap<string, string> = new Map([
  ["utf-8", "utf-8"],
  ["utf-16-le", "utf-16le"],
  ["utf-16-be", "utf-16be"],
  ["gb18030", "gb18030"],
  ["big5hkscs", "big5"],
  ["cp949", "euc-kr"],
  ["euc_kr", "euc-kr"],
  ["cp932", "shift_jis"],
  ["shift_jis_2004", "shift_jis"],
  ["euc_jis_2004", "euc-jp"],
  ["iso2022_jp_2", "iso-2022-jp"],
  ["tis-620", "windows-874"],
  ["cp874", "windows-874"],
  ["koi8-r", "koi8-r"],
  ["koi8-u", "koi8-u"],
  ["cp866", "ibm866"],
  ["cp1250", "windows-1250"],
  ["cp1251", "windows-1251"],
  ["cp1252", "windows-1252"],
  ["cp1253", "windows-1253"],
  ["cp1254", "windows-1254"],
  ["cp1255", "windows-1255"],
  ["cp1256", "windows-1256"],
  ["cp1257", "windows-1257"],
  ["cp1258", "windows-1258"],
  ["iso8859-2", "iso-8859-2"],
  ["iso8859-5", "iso-8859-5"],
  ["iso8859-6", "iso-8859-6"],
  ["iso8859-7", "iso-8859-7"],
  ["iso8859-8", "iso-8859-8-i"],
  ["iso8859-13", "iso-8859-13"],
  ["iso8859-15", "iso-8859-15"],
  ["mac-roman", "macintosh"],
  ["mac-cyrillic", "x-mac-cyrillic"],
]);

/** Guesses the charset of a text from its bytes, as a label for `TextDecoder`; null for bytes that are not text. */
function guessCharset(bytes: Uint8Array): string | null {
  const first = bytes.findIndex((byte) => byte === 0 || byte === ESCAPE || byte >= 0x80);
  // A letter of UTF-16 has two bytes.
  const start = Math.max(0, first - BEFORE) & ~1;
  const { encoding } = chardet.detect(bytes.subarray(start), {
    includeEncodings: LABELS.keys(),
    maxBytes: SAMPLE,
    compatNames: false,
    emptyInputEncoding: "utf-8",
    noMatchEncoding: "utf-8",
  });
  return LABELS.get(encoding ?? "") ?? null;
}

const ESCAPE = 0x1b;
