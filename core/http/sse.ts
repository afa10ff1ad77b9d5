import { utf8 } from "../crypto/encoding.ts";
import { noteAnswer, passingBytes } from "./answer-note.ts";

/** One server-sent event. */
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
export function sseResponse(
  source: AsyncIterable<ServerSentEvent | string>,
  headers: Readonly<Record<string, string>> = {},
): Response {
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
      ...headers,
    },
  });
  return noteAnswer(response, { body: passing });
}
