import { whenReady } from "../../work/now-or-later.ts";
import { bytePieces, passThrough } from "../../http/stream.ts";
import type { Call, Step } from "../call/call.ts";
import type { Recorder } from "../call/recording.ts";
import { withNamedAddress } from "../providers/target.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import { withPlainBody } from "../wire/readable-body.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { isLoggedType, loggedBody } from "../observe/log/log-row.ts";
import type { LoggedBody } from "../call/ended-attempt.ts";

export interface CleaningParts {
  /** Takes the tokens of ours out of a step. */
  readonly stripOwnTokens: (step: Step, call: Call) => Promise<Step> | Step;
  readonly recorder: Pick<Recorder, "keptBytes">;
  readonly decoding: ContentDecoding;
}

/**
 * Returns a step as it may leave the gateway: to the address that it names, and without gateway tokens. The beginning of
 * its body is kept for the log, and a packed body has its unpacked bytes beside it.
 */
export function cleaning({
  stripOwnTokens,
  recorder,
  decoding,
}: CleaningParts): (step: Step, call: Call) => Promise<Step> | Step {
  const readable = (step: Step, call: Call): Promise<Step> | Step =>
    withPlainBody(
      withHeadKept(step, () => recorder.keptBytes(call)),
      decoding,
    );
  return (given, call) => {
    return whenReady(stripOwnTokens(withNamedAddress(given), call), (step) => readable(step, call));
  };
}

/** Returns the step whose body, when it streams through, leaves its first bytes to the log row, as many as that keeps. */
export function withHeadKept(step: Step, keptBytes: () => number): Step {
  const { body, headers } = step;
  if (!(body instanceof ReadableStream)) return step;
  const keep = keptBytes();
  if (keep === 0 || !isLoggedType(headerValue(headers, "content-type") ?? "")) return step;
  return { ...step, ...passingBody(body, keep) };
}

/** Returns the same stream, chunk by chunk, and what has passed of it so far. */
function passingBody(
  source: ReadableStream<Uint8Array>,
  keep: number,
): { readonly body: ReadableStream<Uint8Array>; readonly passed: () => LoggedBody } {
  const head = bytePieces();
  let size = 0;
  let isWhole = false;
  const take = (chunk: Uint8Array): void => {
    size += chunk.length;
    // A copy: the chunk goes on to a provider, and may be part of something large.
    if (head.size < keep) head.add(chunk.slice(0, keep - head.size));
  };
  const body = passThrough(source, async (read) => {
    const next = await read;
    isWhole = next.done;
    if (!next.done) take(next.value);
    return next;
  });
  return {
    body,
    passed() {
      const kept = loggedBody(textOf(head.list), size, keep);
      return isWhole ? kept : { ...kept, complete: false };
    },
  };
}

/** Returns the text of UTF-8 in pieces; a character that the end cuts in two is left out. */
function textOf(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("");
}
