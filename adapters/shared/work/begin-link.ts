import { passThrough } from "../../../core/http/stream.ts";
import type { OutboundRequest } from "../../../core/ports.ts";
import type { TransportError } from "../../../core/net/transport-error.ts";
import { type BeginDeadlines, lateAnswer } from "./begin-deadline.ts";

/** A `fetch` that ends by the request's signal, or when no answer begins in time. */
export interface BeginLink {
  readonly signal: AbortSignal;
  /** The request's body; each chunk of a streamed one restarts the deadline. */
  readonly body: Uint8Array | ReadableStream<Uint8Array> | null;
  /** The answer has begun: from here on only the request's own signal counts. */
  answerBegan(): void;
  /** Ends the request and its answer. */
  end(error: TransportError): void;
  /** Nothing is left to be ended. */
  over(): void;
}

/** Links a request's signal and deadline, for runtimes whose `fetch` takes one signal. */
export function beginLink(
  { signal, beginMs, body = null }: OutboundRequest,
  deadlines: BeginDeadlines,
): BeginLink {
  const control = new AbortController();
  const onAbort = (): void => control.abort(signal?.reason);
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener("abort", onAbort, { once: true });
  const deadline =
    beginMs === undefined
      ? undefined
      : deadlines.start(beginMs, () => control.abort(lateAnswer(beginMs)));
  const answerBegan = (): void => {
    if (deadline !== undefined) deadlines.stop(deadline);
  };
  const passed = (): void => {
    if (deadline !== undefined) deadlines.restart(deadline);
  };
  return {
    signal: control.signal,
    body:
      body instanceof ReadableStream && deadline !== undefined
        ? passThrough(body, (read) => read.finally(passed))
        : body,
    answerBegan,
    end: (error) => control.abort(error),
    over() {
      answerBegan();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}
