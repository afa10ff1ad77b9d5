import type { InboundResponse, StreamWatch, System } from "../../ports.ts";
import { headerValue } from "../header-hygiene.ts";
import { endsInLastEvent } from "../last-event.ts";
import { awake, type Interest, interestIn, once } from "./interest.ts";
import { type SharedStream, sharedStream } from "./shared-stream.ts";

/** A whole successful answer. Streamed ones keep their chunks, to be replayed as a stream. */
export interface CachedReply extends ReplyHead {
  readonly chunks: readonly Uint8Array[];
  readonly streamed: boolean;
}

/** How an answer begins. */
export type ReplyHead = Pick<InboundResponse, "status" | "headers">;

/** What a request gets that waited for another one's answer: all of it, or its beginning and the rest as it comes. */
export type Landing = { readonly hit: CachedReply } | { readonly follow: InboundResponse };

/** The one request that asks the provider while identical ones wait. The first call of a method counts. */
export interface CacheLead {
  /** For the call to the provider: aborts when the leader's client and all others have left. */
  readonly signal: AbortSignal;
  /** The answer is whole. */
  keep(answer: ReplyHead, body: Uint8Array | null): void;
  /** The answer comes as a stream; resolves to the leader's own part in it. `watch` sees the source. */
  share(
    answer: ReplyHead,
    source: ReadableStream<Uint8Array>,
    watch: StreamWatch,
  ): ReadableStream<Uint8Array>;
  /** There is nothing to share: the others ask themselves. */
  nothing(): void;
}

/** One call to a provider under way. */
export interface Flight {
  readonly lead: CacheLead;
  /** Waits until the answer begins; null = there is none to share. Rejects when `signal` aborts. */
  join(signal: AbortSignal): Promise<Landing | null>;
}

/** What a flight needs. */
export interface FlightOptions {
  readonly system: System;
  /** The leader's client. */
  readonly client: AbortSignal;
  /** Bytes of one answer that are kept. */
  readonly limit: number;
  /** Bytes that all flights together may keep. */
  readonly budget: { left: number };
  /** Called once: nobody may join any more. `reply` is the whole answer, if there is one to keep. */
  readonly onClose: (reply: CachedReply | null) => void;
}

type Landed =
  | { readonly hit: CachedReply }
  | { readonly head: ReplyHead; readonly stream: SharedStream };

/** Starts a flight, led by a request of `client`. It goes on for as long as anybody wants its answer. */
export function flight(options: FlightOptions): Flight {
  const { system, client } = options;
  const landed = Promise.withResolvers<Landed | null>();
  const close = once(options.onClose);
  const control = new AbortController();
  let stream: SharedStream | null = null;
  // Who leaves behind the last event has all of the answer.
  let leftBehind = (): CachedReply | null => null;
  const interest = interestIn(() => close(leftBehind()));
  // The continuation runs in the leader's context: on Workers only that may end its requests.
  void interest.lost.then(() => {
    const reason = client.aborted ? client.reason : new DOMException("All have left", "AbortError");
    stream?.stop(reason);
    control.abort(reason);
  });
  const release = interest.hold();
  const leave = (): void => {
    client.removeEventListener("abort", leave);
    release();
  };
  if (client.aborted) leave();
  else client.addEventListener("abort", leave, { once: true });

  const nothing = (): void => {
    landed.resolve(null);
    close(null);
  };
  return {
    join: (signal) => join(landed.promise, interest, signal, system),
    lead: {
      signal: control.signal,
      nothing,
      keep(answer, body) {
        client.removeEventListener("abort", leave);
        const hit = { ...answer, chunks: body === null ? [] : [body], streamed: false };
        landed.resolve({ hit });
        close((body?.length ?? 0) > options.limit ? null : hit);
      },
      share(answer, source, watch) {
        const isTooLong =
          Number(headerValue(answer.headers, "content-length") ?? 0) > options.limit;
        if (isTooLong) nothing();
        const limit = isTooLong ? 0 : options.limit;
        const shared = collected(answer, source, watch, { ...options, limit, onClose: close });
        stream = shared;
        leftBehind = () => whole(answer, shared.chunks, endsInLastEvent);
        landed.resolve({ head: answer, stream });
        // The others need the leader's request, which workerd would end with its client.
        system.waitUntil(shared.over.finally(awake(system)));
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
  { limit, budget, onClose }: FlightOptions,
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

/** The answer to keep; null when its first chunks are gone, or its last ones have not come. */
function whole(
  answer: ReplyHead,
  chunks: readonly Uint8Array[] | null,
  isWhole: (chunks: readonly Uint8Array[]) => boolean,
): CachedReply | null {
  return chunks !== null && isWhole(chunks) ? { ...answer, chunks, streamed: true } : null;
}

async function join(
  landed: Promise<Landed | null>,
  interest: Interest,
  signal: AbortSignal,
  system: System,
): Promise<Landing | null> {
  const [rest, release] = [awake(system), interest.hold()];
  const leave = (): void => {
    rest();
    release();
  };
  const found = await unlessAborted(landed, signal).catch((error: unknown) => {
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
