import type { InboundResponse, StreamWatch, System } from "../../../ports.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { endsInLastEvent } from "../../wire/last-event.ts";
import { keepAwake, type SubscriberCount, subscriberCount, once } from "./subscriber-count.ts";
import { type SharedStream, sharedStream } from "./shared-stream.ts";
import type { CachedReply, ReplyHead } from "../../wire/cached-reply.ts";

/** The answer for a follower: the whole one, or its head and a stream of the rest. */
export type JoinedAnswer = { readonly hit: CachedReply } | { readonly follow: InboundResponse };

/** The one request that asks the provider while identical ones wait. Only the first call of a method counts. */
export interface Leader {
  /** For the call to the provider: aborts when the clients of the leader and of all followers have left. */
  readonly signal: AbortSignal;
  /** The answer is whole. */
  keep(answer: ReplyHead, body: Uint8Array | null): void;
  /** The answer is a stream. Returns the leader's copy; `watch` sees the source. */
  share(
    answer: ReplyHead,
    source: ReadableStream<Uint8Array>,
    watch: StreamWatch,
  ): ReadableStream<Uint8Array>;
  /** Ends the provider's stream, for the leader and all followers. */
  stop(reason: Error): void;
  /** There is nothing to share: each follower asks for itself. */
  nothing(): void;
}

/** One call to a provider for identical requests (single-flight). */
export interface SharedCall {
  readonly leader: Leader;
  /** Resolves when the answer begins; null when it cannot be shared. Rejects when `signal` aborts. */
  join(signal: AbortSignal): Promise<JoinedAnswer | null>;
}

export interface SharedCallOptions {
  readonly system: System;
  /** The leader's client. */
  readonly client: AbortSignal;
  /** Bytes of one answer that are kept. */
  readonly limit: number;
  /** Bytes that all shared calls together may keep. */
  readonly budget: { left: number };
  /** Called once, when followers can no longer join. `reply` is the whole answer, if there is one to keep. */
  readonly onClose: (reply: CachedReply | null) => void;
}

type Started =
  | { readonly hit: CachedReply }
  | { readonly head: ReplyHead; readonly stream: SharedStream };

/** Starts a call led by a request of `client`. It runs for as long as the leader or a follower wants its answer. */
export function startSharedCall(options: SharedCallOptions): SharedCall {
  const { system, client } = options;
  const started = Promise.withResolvers<Started | null>();
  const close = once(options.onClose);
  const control = new AbortController();
  let stream: SharedStream | null = null;
  // A client that leaves after the last event has had the whole answer.
  let keptOnLeave = (): CachedReply | null => null;
  const subscribers = subscriberCount(() => close(keptOnLeave()));
  // The continuation runs in the leader's context: on Workers only that may end its requests.
  void subscribers.none.then(() => {
    const reason = client.aborted ? client.reason : new DOMException("All have left", "AbortError");
    stream?.stop(reason);
    control.abort(reason);
  });
  const release = subscribers.add();
  const leave = (): void => {
    client.removeEventListener("abort", leave);
    release();
  };
  if (client.aborted) leave();
  else client.addEventListener("abort", leave, { once: true });

  const nothing = (): void => {
    started.resolve(null);
    close(null);
  };
  return {
    join: (signal) => join(started.promise, subscribers, signal, system),
    leader: {
      signal: control.signal,
      nothing,
      stop: (reason) => stream?.stop(reason),
      keep(answer, body) {
        client.removeEventListener("abort", leave);
        const hit = { ...answer, chunks: body === null ? [] : [body], streamed: false };
        started.resolve({ hit });
        close((body?.length ?? 0) > options.limit ? null : hit);
      },
      share(answer, source, watch) {
        const isTooLong =
          Number(headerValue(answer.headers, "content-length") ?? 0) > options.limit;
        if (isTooLong) nothing();
        const limit = isTooLong ? 0 : options.limit;
        const shared = collected(answer, source, watch, { ...options, limit, onClose: close });
        stream = shared;
        keptOnLeave = () => whole(answer, shared.chunks, endsInLastEvent);
        started.resolve({ head: answer, stream });
        // Followers need the leader's request, which workerd would end with its client.
        system.waitUntil(shared.over.finally(keepAwake(system)));
        return shared.subscribe(leave) ?? source;
      },
    },
  };
}

/** Shares a stream; `onClose` is given all of it when it has come whole. */
function collected(
  answer: ReplyHead,
  source: ReadableStream<Uint8Array>,
  watch: StreamWatch,
  { limit, budget, onClose }: SharedCallOptions,
): SharedStream {
  const shared = sharedStream(
    source,
    { bytes: limit, budget, onOverflow: () => onClose(null) },
    {
      onChunk: (chunk) => watch.onChunk(chunk),
      onEnd(how) {
        const { chunks } = shared;
        onClose(whole(answer, chunks, () => how === "complete"));
        watch.onEnd(how);
      },
    },
  );
  return shared;
}

/** Returns the answer to keep; null when its first chunks were dropped, or its last ones are missing. */
function whole(
  answer: ReplyHead,
  chunks: readonly Uint8Array[] | null,
  isWhole: (chunks: readonly Uint8Array[]) => boolean,
): CachedReply | null {
  return chunks !== null && isWhole(chunks) ? { ...answer, chunks, streamed: true } : null;
}

async function join(
  started: Promise<Started | null>,
  subscribers: SubscriberCount,
  signal: AbortSignal,
  system: System,
): Promise<JoinedAnswer | null> {
  const [stopTimer, release] = [keepAwake(system), subscribers.add()];
  const leave = (): void => {
    stopTimer();
    release();
  };
  const found = await unlessAborted(started, signal).catch((error: unknown) => {
    leave();
    throw error;
  });
  const body = found !== null && "stream" in found ? found.stream.subscribe(leave) : null;
  if (body === null) leave();
  if (found === null || "hit" in found) return found;
  return body === null ? null : { follow: { ...found.head, body } };
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) return onAbort();
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}
