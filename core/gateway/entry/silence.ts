import { pulledStream, type StreamRead } from "../../http/stream.ts";
import { textEventEnds } from "../../http/sse.ts";
import type { System, AnswerSilence } from "../../ports.ts";
import { errorEvent } from "../wire/error-event.ts";
import { TIMER_OVER } from "../../time/timer-over.ts";

/** A comment that is an event of its own: the parsers that split at blank lines take it for nothing as well. */
const COMMENT = new TextEncoder().encode(":\n\n");

/**
 * Returns the same server-sent events, with a comment whenever the provider was silent for `ms` between two of them: load
 * balancers cut what is silent. Nothing is sent to a client that does not read.
 */
export function keptAlive(
  body: ReadableStream<Uint8Array>,
  ms: number,
  system: System,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  let tail = "\n\n";
  let pending: Promise<StreamRead> | undefined;
  const read = async (): Promise<StreamRead> => {
    const coming = (pending ??= reader.read());
    if (textEventEnds.last(tail) === tail.length && (await isSilent(coming, ms, system)))
      return { done: false, value: COMMENT.slice() };
    const next = await coming;
    pending = undefined;
    if (!next.done) tail = (tail + String.fromCharCode(...next.value.subarray(-3))).slice(-3);
    return next;
  };
  return pulledStream(read, (reason) => reader.cancel(reason));
}

/** Whether a read takes longer than `ms`. */
async function isSilent(read: Promise<unknown>, ms: number, system: System): Promise<boolean> {
  const over = new AbortController();
  const late = system.sleep(ms, over.signal).then(
    () => true,
    () => false,
  );
  const came = read.then(
    () => false,
    () => false,
  );
  const silent = await Promise.race([came, late]);
  over.abort(TIMER_OVER);
  return silent;
}

/** Ends an answer that sends nothing for `ms`, in an error of its format. */
export function answerSilence(ms: number): AnswerSilence {
  const message = `The provider sent nothing for ${ms / 1000} s`;
  const error = { type: "timeout_error", code: "provider_silent", message };
  return { ms, last: (headers) => errorEvent(headers, error) };
}
