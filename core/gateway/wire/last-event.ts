import { textEventEnds } from "../../http/sse.ts";

/** Characters of a stream's end that {@link isLastEvent} looks at. */
export const LAST_EVENT_LIMIT = 64;

/** The last event of OpenAI's streams, and of Anthropic's, with the ends of lines behind it. */
const LAST_EVENT = /(?:^|[\r\n])data: ?(?:\[DONE\]|\{"type": ?"message_stop" ?\})([\r\n]+)$/;

/**
 * Whether a stream of events that ends like this (`tail`: its last characters) has said everything: clients may leave
 * then and not wait for its end, as OpenAI's SDK does.
 */
export function isLastEvent(tail: string): boolean {
  const [, lines = ""] = LAST_EVENT.exec(tail) ?? [];
  return textEventEnds.first(lines) !== -1;
}

/** {@link isLastEvent} for the chunks of a stream. */
export function endsInLastEvent(chunks: readonly Uint8Array[]): boolean {
  const decoder = new TextDecoder();
  let tail = "";
  for (let at = chunks.length - 1; at >= 0 && tail.length < LAST_EVENT_LIMIT; at--) {
    // A character that the cut divides becomes a replacement character, which the last event does not contain.
    tail = decoder.decode(chunks[at]?.subarray(-LAST_EVENT_LIMIT)) + tail;
  }
  return isLastEvent(tail);
}
