import { peekStream } from "./peek.ts";

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
  late: Promise<unknown> | null,
): Promise<Peeked> {
  let size = 0;
  let end: number | undefined;
  const isEnough = (chunk: Uint8Array): boolean => {
    end = chunk.find((byte) => byte === LF || byte === CR);
    size += chunk.length;
    return end !== undefined || size >= FIRST_LINE;
  };
  const { stream } = await peekStream(body, isEnough, late);
  return { stream, isLf: end === LF };
}
