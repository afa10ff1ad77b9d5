import { textEventEnds } from "../../../http/sse.ts";
import { answered } from "../../chat/formats/members.ts";
import { BYTES_PER_TOKEN } from "../../chat/usage.ts";
import { textBlocks } from "./text-blocks.ts";

export interface PassedTokens {
  push(chunk: Uint8Array): void;
  /** How many there are so far. */
  now(): number;
  /** How many there were, after the last chunk. */
  end(): number;
}

/** Characters above which a line is read in parts. */
const LONG_LINE = 64 * 1024;

/** Matches what models say, also where a block of text begins or ends within JSON. */
const SAID = new RegExp(`"(?:${answered.join("|")})":\\s*"((?:[^"\\\\]|\\\\.)*)"`, "g");
/** Events that say nothing, or once more what came in pieces (OpenAI's responses, Anthropic's messages). */
const REPEATED =
  /"type":\s*"(?:[\w.]+\.(?:created|in_progress|added|done|completed)|message_\w+|ping)"|^data: \[DONE\]/;

/**
 * Counts what an answer has said whose provider does not tell its usage, or not any more because its client left: a piece
 * is a token at least, and four characters are one. In an unknown format all characters of an answer count.
 */
export function passedTokens(): PassedTokens {
  let characters = 0;
  let pieces = 0;
  let isKnown = false;
  let others = 0;
  /** A line that came in part. */
  let rest = "";
  const read = (text: string): void => {
    for (let from = 0, end = 0; from < text.length; from = end) {
      end = textEventEnds.first(text, from);
      if (end === -1) end = text.length;
      const event = text.slice(from, end);
      if (REPEATED.test(event)) continue;
      others += event.length;
      for (const [, said = ""] of event.matchAll(SAID)) {
        isKnown = true;
        characters += said.length;
        if (said !== "") pieces++;
      }
    }
  };
  const blocks = textBlocks((piece) => {
    const text = rest + piece;
    const end = text.length > LONG_LINE ? text.length : text.lastIndexOf("\n") + 1;
    read(text.slice(0, end));
    rest = text.slice(end);
  });
  const count = (): number =>
    Math.max(pieces, Math.ceil((isKnown ? characters : others) / BYTES_PER_TOKEN));
  return {
    push: (chunk) => blocks.push(chunk),
    now() {
      blocks.flush();
      return count();
    },
    end() {
      blocks.end();
      read(rest);
      rest = "";
      return count();
    },
  };
}
