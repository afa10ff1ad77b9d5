import { pulledStream } from "../../http/stream.ts";

export interface PeekedStream {
  /** The whole stream, the part already inspected included. */
  readonly stream: ReadableStream<Uint8Array>;
  readonly chunks: readonly Uint8Array[];
  /** Whether they are all. */
  readonly isWhole: boolean;
}

/** Reads a stream until `isEnough` says so of a chunk, its end, or `late`. Never rejects: the stream tells how it went. */
export async function peekStream(
  body: ReadableStream<Uint8Array>,
  isEnough: (chunk: Uint8Array) => boolean,
  late: Promise<unknown> | null,
): Promise<PeekedStream> {
  const reader = body.getReader();
  const reads: ReturnType<typeof reader.read>[] = [];
  const chunks: Uint8Array[] = [];
  const state = { isWhole: false, isLate: false };
  const look = async (): Promise<void> => {
    while (!state.isLate) {
      const next = reader.read();
      reads.push(next);
      const { done, value } = await next;
      state.isWhole = done;
      if (done) return;
      chunks.push(value);
      if (isEnough(value)) return;
    }
  };
  const looked = look().catch(() => undefined);
  await (late === null ? looked : Promise.race([looked, late]));
  state.isLate = true;
  const stream = pulledStream(
    () => reads.shift() ?? reader.read(),
    (reason) => reader.cancel(reason),
  );
  return { stream, chunks: [...chunks], isWhole: state.isWhole };
}
