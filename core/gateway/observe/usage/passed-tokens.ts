import { BYTES_PER_TOKEN } from "../../chat/usage.ts";
import { textBlocks } from "./text-blocks.ts";

/** Counts the tokens of an answer as they pass. */
export interface PassedTokens {
  push(chunk: Uint8Array): void;
  /** How many there were, after the last chunk. */
  end(): number;
}

/** What models say and call, in the formats of all providers. */
const SAID =
  /"(?:content|text|delta|arguments|partial_json|thinking|reasoning|reasoning_content)":\s*"((?:[^"\\]|\\.)*)"/g;
/** Events that say once more what came in pieces (OpenAI's responses). */
const REPEATED = /"type":\s*"[\w.]+\.(?:added|done|completed)"/;
const BLANK_LINE = /\r?\n\r?\n/;

/**
 * Counts what an answer has said until its client left, for whom its provider tells no usage any more: a piece is a token
 * at least, and four characters are one.
 */
export function passedTokens(): PassedTokens {
  let characters = 0;
  let pieces = 0;
  const blocks = textBlocks((text) => {
    for (const event of text.split(BLANK_LINE)) {
      if (REPEATED.test(event)) continue;
      for (const [, said = ""] of event.matchAll(SAID)) {
        characters += said.length;
        if (said !== "") pieces++;
      }
    }
  });
  return {
    push: (chunk) => blocks.push(chunk),
    end() {
      blocks.end();
      return Math.max(pieces, Math.ceil(characters / BYTES_PER_TOKEN));
    },
  };
}
