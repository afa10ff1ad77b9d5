import type { Context } from "hono";
import { attached } from "./attached.ts";
import type { ErrorFacts } from "./api-error.ts";

/** The body of an answer that streams: how many bytes have passed, and whether that is all. */
export interface PassingBytes {
  readonly bytes: number;
  readonly isOver: boolean;
  push(chunk: Uint8Array): void;
  end(): void;
  /** Called once, when the stream has ended in whatever way. */
  onEnd(listener: () => void): void;
}

/**
 * Facts about an answer for the access log. The maker of the answer knows them; reading them from the answer would take
 * it off its fast path.
 */
export interface ResponseNote {
  /** Null = empty, undefined = not known. */
  readonly body?: string | Uint8Array | PassingBytes | null | undefined;
  /** Why the request was not served. */
  readonly error?: ErrorFacts;
  /** The same of an answer that somebody else made, such as a provider: a name and a sentence, without the answer's text. */
  readonly failure?: { readonly error: string; readonly reason: string } | undefined;
  /** Whether the request that this answer passes on is in the log already. */
  readonly isLogged?: boolean;
  /** The id under which the answer itself, or a line of the log, knows the request. */
  readonly requestId?: string | undefined;
  /** The caller of a route that needs no token, and the account that the route is of. */
  readonly visitor?: { readonly name: string; readonly account: string };
  /** The effect of the request, if it stored something. */
  readonly made?: RequestEffect | undefined;
}

/** The effect of a request, which the console can repeat: a stored event, or a message to endpoints. */
export type RequestEffect =
  | {
      readonly kind: "event";
      readonly source: string;
      /** Kebab form of the agent's class. */
      readonly agent: string;
      readonly entity: string;
      readonly id: string;
    }
  | { readonly kind: "message"; readonly id: string };

const notes = attached<ResponseNote>("response-note");
const counters = attached<PassingBytes>("passing-bytes");

/** Attaches a note, and returns the answer. */
export function noteResponse(response: Response, note: ResponseNote): Response {
  notes.set(response, note);
  return response;
}

/** The note of an answer, if its maker left one. */
export function responseNote(response: Response): ResponseNote | undefined {
  return notes.get(response);
}

/** Copies the note of a response to the one that replaces it. */
export function carryNote(from: Response, to: Response): Response {
  const note = responseNote(from);
  return note === undefined ? to : noteResponse(to, note);
}

/**
 * Sets or appends a header of the answer behind `next()`, and keeps its note. Hono's own `c.header()` makes a new response
 * there, which has none.
 */
export function setAnswerHeader(
  c: Context,
  name: string,
  value: string,
  how: "set" | "append" = "set",
): void {
  try {
    c.res.headers[how](name, value);
  } catch {
    // A host's own answer may be immutable.
    const { res } = c;
    const copy = new Response(res.body, res);
    copy.headers[how](name, value);
    // Else Hono would merge both into a third one.
    c.res = undefined;
    c.res = carryNote(res, copy);
  }
}

/** Counts the bytes of a stream. */
export function passingBytes(): PassingBytes {
  let bytes = 0;
  let isOver = false;
  let listener: (() => void) | undefined;
  return {
    get bytes() {
      return bytes;
    },
    get isOver() {
      return isOver;
    },
    push(chunk) {
      bytes += chunk.byteLength;
    },
    end() {
      if (isOver) return;
      isOver = true;
      const listening = listener;
      // A connection may still hold its last stream; it must not hold the listener as well.
      listener = undefined;
      listening?.();
    },
    onEnd(given) {
      if (isOver) given();
      else listener = given;
    },
  };
}

/** Attaches to a stream the counter of its bytes. */
export function markPassing(stream: ReadableStream<Uint8Array>, passing: PassingBytes): void {
  counters.set(stream, passing);
}

/** The byte counter of a stream, if it has one. */
export function passingOf(stream: ReadableStream<Uint8Array>): PassingBytes | undefined {
  return counters.get(stream);
}
