import { TransportError } from "../transport-error.ts";

/** One parsed server-sent event. */
export interface SseEvent {
  /** @default "message" */
  readonly event: string;
  readonly data: string;
}

/** Characters of one event; a provider that sends more is not speaking this protocol. */
const EVENT_LIMIT = 8 * 1024 * 1024;

/** Parses a byte stream as server-sent events (HTML standard, 9.2.6). Leaving the loop cancels the stream. */
export async function* sseEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<SseEvent> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let buffer = "";
  let name = "message";
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      buffer += done ? decoder.decode() : decoder.decode(value, { stream: true });
      if (buffer.length > EVENT_LIMIT)
        throw new TransportError("broken", "A server-sent event is too long");
      // A CR at the end may be half of a CRLF: it waits for the next chunk.
      const lines = buffer.split(done ? /\r\n|\r|\n/ : /\r\n|\r(?!$)|\n/);
      buffer = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "" && data.length > 0) yield { event: name, data: data.join("\n") };
        if (line === "") [name, data] = ["message", []];
        else if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
        else if (line.startsWith("event:")) name = line.slice(6).trim();
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
