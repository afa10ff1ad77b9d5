import { pulledStream } from "../../http/stream.ts";

const LF = 10;
const CR = 13;

/** Bytes that are looked at for the end of the first line. */
const FIRST_LINE = 64 * 1024;

/** A stream of which the beginning is known. */
export interface Peeked {
  /** The whole stream, the part already inspected included. */
  readonly stream: ReadableStream<Uint8Array>;
  /** Whether its first line ends in LF alone. */
  readonly isLf: boolean;
}

/** Waits for the end of the first line, or for `late`. Never rejects: the stream tells how it went. */
export async function peekFirstLine(
  body: ReadableStream<Uint8Array>,
  late: Promise<false> | null,
): Promise<Peeked> {
  const reader = body.getReader();
  const reads: ReturnType<typeof reader.read>[] = [];
  const look = async (): Promise<boolean> => {
    for (let size = 0; size < FIRST_LINE;) {
      const next = reader.read();
      reads.push(next);
      const { done, value } = await next;
      if (done) return false;
      const end = value.findIndex((byte) => byte === LF || byte === CR);
      if (end !== -1) return value[end] === LF;
      size += value.length;
    }
    return false;
  };
  const looked = look().catch(() => false);
  const isLf = await (late === null ? looked : Promise.race([looked, late]));
  const stream = pulledStream(
    () => reads.shift() ?? reader.read(),
    (reason) => reader.cancel(reason),
  );
  return { stream, isLf };
}
