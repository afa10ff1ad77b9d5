import { toBase64 } from "../../crypto/encoding.ts";

/** A text of any size in the parameters of a DevTools call, made while it is sent. */
export interface LongText {
  /** Yields the text between the quotes of its JSON, in parts. */
  readonly jsonParts: () => Iterable<string>;
}

/** Bytes that become one part: about a millisecond of work. A multiple of 3, so that parts of base64 need no padding. */
const PART_BYTES = 3 * 128 * 1024;

/** A text that is there in UTF-8. */
export function longText(utf8: Uint8Array): LongText {
  return {
    *jsonParts() {
      const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
      for (let at = 0; at < utf8.length; at += PART_BYTES) {
        const stream = at + PART_BYTES < utf8.length;
        const text = decoder.decode(utf8.subarray(at, at + PART_BYTES), { stream });
        yield JSON.stringify(text).slice(1, -1);
      }
    },
  };
}

export function longBase64(bytes: Uint8Array): LongText {
  return {
    *jsonParts() {
      for (let at = 0; at < bytes.length; at += PART_BYTES)
        yield toBase64(bytes.subarray(at, at + PART_BYTES));
    },
  };
}

/** The members that a call begins with. The session comes before the method, so that the first part has it. */
export interface CallHead {
  readonly id: number;
  readonly sessionId?: string;
  readonly method: string;
}

/** The message of a call; in parts when one of its parameters is a {@link LongText}. */
export function callMessage(
  head: CallHead,
  params: Readonly<Record<string, unknown>>,
): string | Iterable<string> {
  return Object.values(params).some(isLongText)
    ? messageParts(head, params)
    : JSON.stringify({ ...head, params });
}

function* messageParts(
  head: CallHead,
  params: Readonly<Record<string, unknown>>,
): Generator<string, void, void> {
  let text = `${JSON.stringify(head).slice(0, -1)},"params":{`;
  let separator = "";
  for (const [name, value] of Object.entries(params)) {
    if (value === undefined) continue;
    text += `${separator}${JSON.stringify(name)}:`;
    separator = ",";
    if (isLongText(value)) {
      yield `${text}"`;
      yield* value.jsonParts();
      text = '"';
    } else text += JSON.stringify(value);
  }
  yield `${text}}}`;
}

/** A message as one text, for a wire that takes no parts. */
export function wholeMessage(message: string | Iterable<string>): string {
  return typeof message === "string" ? message : [...message].join("");
}

function isLongText(value: unknown): value is LongText {
  return (
    typeof value === "object" &&
    value !== null &&
    "jsonParts" in value &&
    typeof value.jsonParts === "function"
  );
}
