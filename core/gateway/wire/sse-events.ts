import { TransportError } from "../../transport-error.ts";

/** One parsed server-sent event. */
export interface SseEvent {
  /** @default "message" */
  readonly event: string;
  readonly data: string;
}

/** Characters of one event; a provider that sends more is not speaking this protocol. */
const EVENT_LIMIT = 8 * 1024 * 1024;

/**
 * Parses a byte stream as server-sent events (HTML standard, 9.2.6). Leaving the loop cancels the stream, and so does
 * `signal`, also while a chunk is waited for. Throws `TransportError` for an event of more than 8 Mi characters.
 */
export async function* sseEvents(
  stream: ReadableStream<Uint8Array>,
  signal?: AbortSignal,
): AsyncGenerator<SseEvent> {
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
      if (size + lines.waiting() > EVENT_LIMIT)
        throw new TransportError("broken", "A server-sent event is too long");
      if (done) return;
    }
  } finally {
    signal?.removeEventListener("abort", onAbort);
    await cancel();
  }
}

/** Splits bytes into lines, whatever their ends and the boundaries of chunks. */
interface LineReader {
  /** The lines that end in this chunk; undefined = there is no further one. */
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

/** The data of every event of a whole stream, of one without its blank line as well. */
export function sseData(stream: string): string[] {
  const events: string[] = [];
  let data: string[] = [];
  for (const line of [...stream.split(/\r\n|\r|\n/), ""]) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && data.length > 0) {
      events.push(data.join("\n"));
      data = [];
    }
  }
  return events;
}

/** Characters of a stream's end that {@link isLastEvent} looks at. */
export const LAST_EVENT_LIMIT = 64;

/** The last event of OpenAI's streams, and of Anthropic's, with its blank line. */
const LAST_EVENT =
  /(?:^|[\r\n])data: ?(?:\[DONE\]|\{"type": ?"message_stop" ?\})(?:\n\n|\r\r|\r\n\r\n)$/;

/**
 * Whether a stream of events that ends like this (`tail`: its last characters) has said everything: clients may leave
 * then and not wait for its end, as OpenAI's SDK does.
 */
export function isLastEvent(tail: string): boolean {
  return LAST_EVENT.test(tail);
}

/** {@link isLastEvent} for the chunks of a stream. */
export function endsInLastEvent(chunks: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder();
  let tail = "";
  for (let at = chunks.length - 1; at >= 0 && tail.length < LAST_EVENT_LIMIT; at--) {
    // Of a character that the cut divides something is left; that event is not the last one.
    tail = decoder.decode(chunks[at]?.subarray(-LAST_EVENT_LIMIT)) + tail;
  }
  return isLastEvent(tail);
}
