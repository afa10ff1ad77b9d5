const LF = 10;
const CR = 13;

/** Finds where a stream can be resumed: behind its events. */
export interface ResumeOffsets {
  /**
   * Returns the offsets, from the beginning of the stream, behind the events that end in this chunk; null for a stream
   * whose events cannot be counted.
   */
  push(chunk: Uint8Array): readonly number[] | null;
}

/**
 * Counts events as the clients that resume do (`ai-gateway-provider` 4.0.1): by `\n\n` alone, comments included. Lines
 * that end in CR LF would count as no event at all. Where blank lines follow each other, the count would depend on the
 * boundaries of chunks. Neither stream can be resumed.
 */
export function resumeOffsets(): ResumeOffsets {
  let offset = 0;
  let begin = 0;
  /** Offset of a line end that may be the first half of an event's; -2 without one. */
  let half = -2;
  let before = 0;
  return {
    push(chunk) {
      const ends: number[] = [];
      for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) {
        if ((at === 0 ? before : chunk[at - 1]) === CR) return null;
        const here = offset + at;
        if (half !== here - 1) {
          half = here;
          continue;
        }
        if (here + 1 - begin === 2) return null;
        begin = here + 1;
        half = -2;
        ends.push(begin);
      }
      offset += chunk.length;
      before = chunk.at(-1) ?? before;
      return ends;
    },
  };
}
