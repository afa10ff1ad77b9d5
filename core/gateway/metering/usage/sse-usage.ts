import { backslashesBefore, boundedJson, endOfText } from "../../../http/json.ts";
import { sseData, textEventEnds } from "../../../http/sse.ts";
import { type AddUsage, addUsage } from "../../providers/usage.ts";
import { noUsage, type TokenUsage } from "../../chat/usage.ts";

/** Reads the usage out of the text of a server-sent event stream. */
export interface UsageScanner {
  /** Takes the next piece of the text; it may end anywhere, also between CR and LF. */
  push(text: string): void;
  /** Returns the usage seen so far; after the last piece this includes an event without its blank line. */
  usage(): TokenUsage;
}

/** Characters of an unfinished event above which its long texts are left out: a report may come with a picture. */
const LONG_EVENT = 128 * 1024;

/** Characters of a text that is left out then. */
const LONG_TEXT = 4 * 1024;

/** Characters of one event that are looked at, its long texts aside; a longer event cannot be a usage report. */
const EVENT_LIMIT = 1024 * 1024;

/**
 * How every report names what it holds, but for the usage in all of OpenAI's chunks except the last; a quote inside a JSON
 * string has a backslash before it.
 */
const MENTION = /"usage(?!":null)/g;

/**
 * Searches for the few events that mention usage, and only reads those: most of a stream is looked at by the engine's
 * own search. Give it large pieces: what is left of a piece, an unfinished event, is searched again with the next one.
 *
 * @param add Reads what an event says, by its family
 * @param mayKeep Whether there is memory for an unfinished event of so many characters; without it the event is not read
 */
export function usageScanner(
  add: AddUsage = addUsage,
  mayKeep: (characters: number) => boolean = () => true,
): UsageScanner {
  let usage = noUsage;
  let rest = "";
  let isTooLong = false;
  return {
    push(piece) {
      let text = rest + piece;
      if (isTooLong) {
        // Its end is still to be found.
        const end = textEventEnds.first(text);
        if (end !== -1) text = text.slice(end);
        isTooLong = end === -1;
      }
      const end = Math.max(0, textEventEnds.last(text));
      if (!isTooLong) usage = usageOf(text.slice(0, end), usage, add);
      rest = text.slice(end);
      if (rest.length > LONG_EVENT) rest = withoutLongTexts(rest, LONG_TEXT);
      isTooLong ||= rest.length > EVENT_LIMIT || !mayKeep(rest.length);
      // A blank line can end behind the last two characters.
      if (isTooLong) rest = rest.slice(-2);
    },
    usage: () => (isTooLong ? usage : usageOf(rest, usage, add)),
  };
}

function usageOf(text: string, usage: TokenUsage, add: AddUsage): TokenUsage {
  let sum = usage;
  let start = 0;
  MENTION.lastIndex = 0;
  for (let found = MENTION.exec(text); found !== null; found = MENTION.exec(text)) {
    const at = found.index;
    const begin = Math.max(start, textEventEnds.last(text, start, at));
    const end = textEventEnds.first(text, at);
    const event = end === -1 ? text.slice(begin) : text.slice(begin, end);
    if (event.length <= EVENT_LIMIT) sum = usageIn(event, sum, add);
    if (end === -1) break;
    start = end;
    MENTION.lastIndex = end;
  }
  return sum;
}

/** Adds the usage that the data of one event reports; none when it is not JSON, or cut off. */
function usageIn(event: string, usage: TokenUsage, add: AddUsage): TokenUsage {
  const value = boundedJson(sseData(event).join("\n"));
  return value === undefined ? usage : add(usage, value);
}

/**
 * Empties the texts of more than `longest` characters, sound and pictures mostly, in JSON that may end anywhere. Its
 * continuation can be appended to the result.
 */
export function withoutLongTexts(json: string, longest: number): string {
  let short = "";
  let from = 0;
  for (let open = json.indexOf('"'); open !== -1;) {
    const close = endOfText(json, open);
    // The last backslash of what is cut off may belong to what follows.
    const end = close === json.length ? close - backslashesBefore(json, close) : close;
    if (end - open > longest) {
      short += json.slice(from, open + 1);
      from = end;
    }
    open = json.indexOf('"', close + 1);
  }
  return short + json.slice(from);
}
