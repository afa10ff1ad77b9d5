import { ApiError } from "../../http/api-error.ts";
import type { LongTask } from "../../ports.ts";
import { textBudget } from "../../files/text-budget.ts";
import { decodeFile } from "./decode-file.ts";
import type { ReadableFile, ReadFileResult } from "./file-reader.ts";
import { refused } from "./refused.ts";

/** Files of text: decodes them, and makes Markdown of what is another format. Null where only a guess could decode it. */
export const readText: LongTask<
  ReadableFile & { readonly keepHtml: boolean },
  ReadFileResult | null
> = {
  name: "search/read-text",
  overrun: (why) => refused(`the file cannot be read: ${why}`),
  async load() {
    const { convertText } = await import("./text-formats.ts");
    return function* ({ key, contentType, bytes, keepHtml }) {
      const text = yield* decodeFile(bytes, contentType);
      if (text === null) return null;
      checkText(text, key);
      yield;
      return yield* convertText({ key, contentType, text, keepHtml }, textBudget(refused));
    };
  },
};

/** Signs that rarely occur in a text: control characters other than blanks and line ends, and undecodable bytes. */
const CONTROLS = /(?!\s)\p{Cc}|\u{FFFD}/gu;

/** Throws 7060 for bytes that only decode by chance, as any bytes do in a charset of single bytes. */
function checkText(text: string, key: string): void {
  const odd = text.match(CONTROLS)?.length ?? 0;
  // One in fifty: real texts hold a few, of bad conversions and of terminals, but never NUL.
  const isFew = odd * 50 <= text.length || (odd < 3 && odd * 2 < text.length);
  if (isFew && !text.includes("\0")) return;
  throw new ApiError("unsupported_file", {
    message: `unsupported_file_type: "${key.slice(0, 128)}" holds bytes that are not text`,
  });
}
