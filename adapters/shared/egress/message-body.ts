import { type Head, valuesOf } from "./egress-head.ts";

/** Finds the end of a message's body in the bytes that follow its head. */
export interface BodyEnd {
  readonly isReached: boolean;
  /** How many of these bytes belong to the body. @throws Error for bytes that no body has */
  take(bytes: Uint8Array): number;
}

/** A header line that everybody reads alike: what is lenient somewhere may hide a second message. */
const PLAIN_LINE = /^[!#$%&'*+.^_`|~\w-]+:[\t\x20-\x7e\x80-\xff]*$/;

/** Returns how the body of a request ends; null when the head leaves any doubt. */
export function requestEnd(head: Head): BodyEnd | null {
  if (!head.lines.every((line) => PLAIN_LINE.test(line))) return null;
  if (valuesOf(head, "transfer-encoding").length > 0 || valuesOf(head, "upgrade").length > 0)
    return null;
  const lengths = valuesOf(head, "content-length");
  if (lengths.length === 0) return countedBody(0);
  return lengths.length === 1 ? lengthEnd(lengths[0] ?? "") : null;
}

/** Returns how the body of the answer to `method` ends (RFC 9112, section 6.3); null: with the connection, or in doubt. */
export function answerEnd(method: string, status: number, head: Head): BodyEnd | null {
  if (status === 101 || !head.lines.every((line) => PLAIN_LINE.test(line))) return null;
  if (method === "HEAD" || status === 204 || status === 304) return countedBody(0);
  const codings = valuesOf(head, "transfer-encoding");
  const lengths = valuesOf(head, "content-length");
  if (codings.length > 0) {
    const isChunked = codings.length === 1 && codings[0]?.toLowerCase() === "chunked";
    return isChunked && lengths.length === 0 ? chunkedBody() : null;
  }
  return lengths.length === 1 ? lengthEnd(lengths[0] ?? "") : null;
}

function lengthEnd(text: string): BodyEnd | null {
  return /^\d{1,15}$/.test(text) ? countedBody(Number(text)) : null;
}

function countedBody(length: number): BodyEnd {
  let left = length;
  return {
    get isReached() {
      return left === 0;
    },
    take(bytes) {
      const taken = Math.min(left, bytes.length);
      left -= taken;
      return taken;
    },
  };
}

/** Characters of a chunk's first line, and of all trailers. */
const LINE_LIMIT = 8192;

/** Follows chunks (RFC 9112, section 7.1): a line with the size, so many bytes, an empty line; trailers at the end. */
function chunkedBody(): BodyEnd {
  let state: "size" | "data" | "gap" | "trailers" | "end" = "size";
  let line = "";
  let left = 0;
  const endLine = (): void => {
    const text = line;
    line = "";
    if (state === "gap" && text !== "") throw new Error("A chunk is longer than it says");
    if (state === "gap") state = "size";
    else if (state === "trailers") state = text === "" ? "end" : "trailers";
    else {
      const size = /^([\da-f]{1,12})[\t ]*(?:;|$)/i.exec(text)?.[1];
      if (size === undefined) throw new Error("A chunk has no size");
      left = Number.parseInt(size, 16);
      state = left === 0 ? "trailers" : "data";
    }
  };
  return {
    get isReached() {
      return state === "end";
    },
    take(bytes) {
      let at = 0;
      while (at < bytes.length && state !== "end") {
        if (state === "data") {
          const taken = Math.min(left, bytes.length - at);
          at += taken;
          left -= taken;
          if (left === 0) state = "gap";
          continue;
        }
        const feed = bytes.indexOf(0x0a, at);
        const end = feed < 0 ? bytes.length : feed;
        line += Buffer.from(bytes.subarray(at, end)).toString("latin1");
        if (line.length > LINE_LIMIT) throw new Error("A chunk has no end of line");
        at = feed < 0 ? end : feed + 1;
        if (feed < 0) continue;
        if (!line.endsWith("\r")) throw new Error("A line ends without a carriage return");
        line = line.slice(0, -1);
        endLine();
      }
      return at;
    },
  };
}
