import { decodeWith } from "../../text/decode-text.ts";
import type { TextBudget } from "../../files/text-budget.ts";
import type { DocumentText } from "../read/file-reader.ts";
import { refused } from "../read/refused.ts";
import { guessCharset } from "./guess-charset.ts";

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
