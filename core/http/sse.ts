import { TransportError } from "../net/transport-error.ts";
import { utf8 } from "../crypto/encoding.ts";
import { noteResponse, passingBytes } from "./response-note.ts";

export interface ServerSentEvent {
  /** One line per event: pass `JSON.stringify` output, so that no text can break the framing. */
  readonly data: string;
  readonly event?: string;
  readonly id?: string;
  /** Reconnection time in ms. */
  readonly retry?: number;
}

/** The bytes of one event; line breaks in `data` become several `data:` lines. */
export function formatEvent(event: ServerSentEvent): string {
  let out = event.event === undefined ? "" : `event: ${event.event}\n`;
  if (event.id !== undefined) out += `id: ${event.id}\n`;
  if (event.retry !== undefined) out += `retry: ${event.retry}\n`;
  for (const line of event.data.split(/\r\n|\r|\n/)) out += `data: ${line}\n`;
  return `${out}\n`;
}

/**
 * Streams events (or ready-made text such as comments) as `text/event-stream`.
 * Pulls one item at a time, so a slow client slows the source; a client that leaves ends the source
 * through its `return()`. A source that throws breaks the stream: nothing is made up in its place.
 */
export function sseResponse(source: AsyncIterable<ServerSentEvent | string>): Response {
  const iterator = source[Symbol.asyncIterator]();
  const passing = passingBytes();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await iterator.next();
        if (done === true) {
          passing.end();
          controller.close();
          return;
        }
        const chunk = utf8(typeof value === "string" ? value : formatEvent(value));
        passing.push(chunk);
        controller.enqueue(chunk);
      } catch (error) {
        passing.end();
        throw error;
      }
    },
    async cancel() {
      passing.end();
      await iterator.return?.();
    },
  });
  const response = new Response(body, {
    headers: {
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
    },
  });
  return noteResponse(response, { body: passing });
}

/** A server-sent event that was read. */
export interface ReadEvent {
  /** @default "message" */
  readonly event: string;
  readonly data: string;
}

/** Options of reading a stream of events. */
export interface EventReading {
  /** Ends the stream, also while a chunk is waited for. */
  readonly signal?: AbortSignal;
  /** Characters of one event. @default 8 Mi: a longer event is not of this protocol */
  readonly limit?: number;
  /** The error for a longer one. @default a `TransportError` */
  readonly tooLong?: () => Error;
}

/**
 * Parses a byte stream as server-sent events ([HTML standard](https://html.spec.whatwg.org/multipage/server-sent-events.html),
 * 9.2.6). Leaving the loop cancels the stream.
 */
export async function* sseEvents(
  stream: ReadableStream<Uint8Array>,
  {
    signal,
    limit = 8 * 1024 * 1024,
    tooLong = () => new TransportError("broken", "A server-sent event is too long"),
  }: EventReading = {},
): AsyncGenerator<ReadEvent> {
  const reader = stream.getReader();
  const cancel = (): Promise<void> => reader.cancel(signal?.reason).catch(() => undefined);
  const onAbort = (): void => void cancel();
  signal?.addEventListener("abort", onAbort, { once: true });
  const lines = lineReader();
  let name = "message";
  let data: string[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      for (const line of lines.push(value)) {
        if (line === "") {
          if (data.length > 0) yield { event: name, data: data.join("\n") };
          [name, data, size] = ["message", [], 0];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
          size += line.length;
        } else if (line.startsWith("event:")) name = line.slice(6).trim();
      }
      if (size + lines.waiting() > limit) throw tooLong();
      if (done) return;
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    await cancel();
  }
}

/** Splits bytes into lines, whatever their ends and the boundaries of chunks. */
interface LineReader {
  /** Takes a chunk and returns the lines that end in it; undefined = the last chunk has come. */
  push(chunk: Uint8Array | undefined): string[];
  /** Characters of the line that has not ended. */
  waiting(): number;
}

function lineReader(): LineReader {
  const decoder = new TextDecoder();
  let pieces: string[] = [];
  let length = 0;
  return {
    push(chunk) {
      const text = chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
      pieces.push(text);
      length += text.length;
      // Joined only where a line can end: a long one in small chunks would be copied with each of them.
      if (chunk !== undefined && !/[\r\n]/.test(text)) return [];
      // A CR at the end may be half of a CRLF: it waits for the next chunk.
      const lines = pieces.join("").split(chunk === undefined ? /\r\n|\r|\n/ : /\r\n|\r(?!$)|\n/);
      const rest = lines.pop() ?? "";
      pieces = [rest];
      length = rest.length;
      return lines;
    },
    waiting: () => length,
  };
}

/** The data of every event of a whole stream, including a last one without its blank line. */
export function sseData(stream: string): string[] {
  return [...eventData(stream)].filter((data) => data !== null);
}

/** Lines that are joined in one go. */
const BLOCK = 4096;

/**
 * Yields the data of every event, as {@link sseData}, and null where it is time to stop: `isDue` hears how many
 * characters were read.
 */
export function* eventData(
  stream: string,
  isDue: (characters: number) => boolean = () => false,
): Generator<string | null, void> {
  let data: string[] = [];
  // An event of very many lines is joined block by block.
  let blocks: string[] = [];
  const event = (): string => {
    const whole = [...blocks, ...data].join("\n");
    [data, blocks] = [[], []];
    return whole;
  };
  for (const line of linesIn(stream, lineEnd)) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && data.length + blocks.length > 0) yield event();
    if (data.length === BLOCK) {
      blocks.push(data.join("\n"));
      data = [];
    }
    if (isDue(line.length)) yield null;
  }
  if (data.length + blocks.length > 0) yield event();
}

const lineEnd = /\r\n|\r|\n/g;

const LF = 10;
const CR = 13;

/** Finds where events of a stream end: behind the blank line. */
export interface EventEnds<Text> {
  /** Returns where the first event ends whose blank line is behind the character at `from`; -1 = nowhere. */
  first(text: Text, from?: number): number;
  /** Returns where the last event ends whose blank line is behind `from` and begins before `to`; -1 = nowhere. */
  last(text: Text, from?: number, to?: number): number;
}

/**
 * Finds the ends of events whatever ends their lines: CR, LF or both, also mixed (HTML standard, 9.2.6). A text that ends in
 * LF and CR is not known to end an event: LF may follow, and clients that know CRLF only must not see anything in between.
 */
export function eventEnds<Text extends { readonly length: number }>(
  codeAt: (text: Text, at: number) => number | undefined,
): EventEnds<Text> {
  const isBlankLine = (text: Text, at: number): boolean => {
    const code = codeAt(text, at);
    if (code !== LF && code !== CR) return false;
    const before = codeAt(text, at - 1);
    if (code === LF) return before === LF;
    return before === CR || (before === LF && at + 1 < text.length);
  };
  const endOf = (text: Text, at: number): number =>
    at + (codeAt(text, at) === CR && codeAt(text, at + 1) === LF ? 2 : 1);
  return {
    first(text, from = 0) {
      for (let at = from + 1; at < text.length; at++)
        if (isBlankLine(text, at)) return endOf(text, at);
      return -1;
    },
    last(text, from = 0, to = text.length) {
      for (let at = to - 1; at > from; at--) if (isBlankLine(text, at)) return endOf(text, at);
      return -1;
    },
  };
}

/** {@link eventEnds} in texts. */
export const textEventEnds: EventEnds<string> = eventEnds((text, at) => text.charCodeAt(at));

/** Yields the lines of a text one by one, whatever their `ends` match. */
export function* linesIn(text: string, ends: RegExp): Generator<string, void> {
  const end = new RegExp(ends);
  for (let at = 0; at <= text.length;) {
    end.lastIndex = at;
    const found = end.exec(text);
    yield text.slice(at, found?.index ?? text.length);
    at = found === null ? text.length + 1 : end.lastIndex;
  }
}
