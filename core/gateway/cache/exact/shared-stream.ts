import type { StreamWatch } from "../../../ports.ts";
import { TransportError } from "../../../net/transport-error.ts";
import { chunkWeight, type LateReader, lateReaders } from "../../wire/late-readers.ts";

/** One stream that several readers take, each at a pace of its own. */
export interface SharedStream {
  /** All bytes from the first on; null when they are gone, or the source failed. `onLeave` is called once. */
  subscribe(onLeave: () => void): ReadableStream<Uint8Array> | null;
  /** Ends the source. Call it when the last reader has left. */
  stop(reason: unknown): void;
  /** All chunks so far; null once the first ones are gone. */
  readonly chunks: readonly Uint8Array[] | null;
  /** Resolves when the source has ended. */
  readonly over: Promise<void>;
}

export interface SharedLimits {
  /** Bytes that are kept from the first on; beyond, what the slowest reader lacks, at most as much. */
  readonly bytes: number;
  /** Bytes that all streams together may keep from the first on. */
  readonly budget: { left: number };
  /** Called when the first bytes are dropped: from then on no reader can join. */
  readonly onOverflow: () => void;
}

/**
 * Shares a stream. Nothing is read ahead: the source gives a chunk when a reader has taken all others. The first reader
 * owns the stream: past the limit the others wait for it. A reader that is itself behind by more than the limit is
 * broken off.
 */
export function sharedStream(
  source: ReadableStream<Uint8Array>,
  { bytes, budget, onOverflow }: SharedLimits,
  watch: StreamWatch,
): SharedStream {
  /** Weight of all chunks that came. */
  let received = 0;
  /** Whether the chunks are kept from the first on. */
  let isWhole = true;
  /** The first reader, while it reads. */
  let owner: LateReader | null = null;
  /** Past the limit, breaks off readers that are too far behind, and drops chunks that all others have read. */
  const trim = (): void => {
    if (isWhole || late.end !== null) return;
    for (const reader of late.readers)
      if (reader !== owner && received - reader.taken > bytes) late.breakOff(reader, tooSlow());
    late.drop();
  };
  const late = lateReaders(source, {
    copies: false,
    isWanted() {
      const mayPass = isWhole || owner === null || received - owner.taken < bytes;
      for (const reader of late.readers)
        if (reader.wake !== null && (mayPass || reader === owner)) return true;
      return false;
    },
    onChunk(chunk) {
      const weight = chunkWeight(chunk);
      if (isWhole && (received + weight > bytes || weight > budget.left)) {
        isWhole = false;
        budget.left += received;
        onOverflow();
      }
      if (isWhole) budget.left -= weight;
      received += weight;
      watch.onChunk(chunk);
      trim();
    },
    onTaken(reader) {
      trim();
      // The others may have been waiting for the owner.
      if (reader === owner) late.wakeSource();
    },
    onLeft(reader) {
      if (reader === owner) owner = null;
    },
    onEnd(how) {
      if (isWhole) budget.left += received;
      watch.onEnd(how);
    },
  });
  return {
    subscribe(onLeave) {
      if (!isWhole || (late.end !== null && late.end.how !== "complete")) return null;
      const { reader, body } = late.subscribe({ next: 0, skip: 0 }, onLeave);
      if (received === 0) owner ??= reader;
      return body;
    },
    stop: (reason) => late.stop(reason),
    get chunks() {
      return isWhole ? late.chunks : null;
    },
    over: late.run(),
  };
}

function tooSlow(): TransportError {
  return new TransportError("broken", "The client reads too slowly to share this answer");
}
