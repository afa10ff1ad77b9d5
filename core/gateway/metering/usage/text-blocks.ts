/** Turns bytes that come in small chunks into large pieces of text. */
export interface TextBlocks {
  push(chunk: Uint8Array): void;
  /** Hands over what waits; a character that came in part waits on. */
  flush(): void;
  /** Hands over what is left, after the last chunk. */
  end(): void;
}

/** Bytes of a piece. */
const BLOCK = 64 * 1024;
/** Bytes of the first room; most streams of a minute are shorter than a block. */
const FIRST_ROOM = 4 * 1024;

/**
 * Copies chunks into blocks and decodes each block as UTF-8, at once and not chunk by chunk: a call of the decoder costs
 * more than the text of an event. A chunk that was copied is free, whatever buffer of the network it was cut from.
 *
 * @param size Bytes of a block; its text is handed over when it is full
 */
export function textBlocks(onText: (text: string) => void, size: number = BLOCK): TextBlocks {
  const decoder = new TextDecoder();
  let room = new Uint8Array(0);
  let used = 0;
  const flush = (isMore: boolean): void => {
    const text = decoder.decode(room.subarray(0, used), { stream: isMore });
    used = 0;
    if (text !== "") onText(text);
  };
  const add = (piece: Uint8Array): void => {
    if (used + piece.length > room.length) {
      const wanted = Math.max(4 * room.length, used + piece.length, FIRST_ROOM);
      const larger = new Uint8Array(Math.min(size, wanted));
      larger.set(room.subarray(0, used));
      room = larger;
    }
    room.set(piece, used);
    used += piece.length;
    if (used === size) flush(true);
  };
  return {
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        const end = Math.min(chunk.length, at + size - used);
        add(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
        at = end;
      }
    },
    flush: () => flush(true),
    end: () => flush(false),
  };
}
