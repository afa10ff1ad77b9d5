/** Takes the bytes of a stream of `application/vnd.amazon.eventstream`. */
export interface AwsFrames {
  push(chunk: Uint8Array): void;
  /** Whether a frame has begun that is not whole. */
  isOpen(): boolean;
}

/** Receives frames. Their bytes are valid until the next frame. */
export interface FrameHandling {
  /** Bytes of the longest frame that is handed on. */
  readonly limit: number;
  frame(headers: Uint8Array, payload: Uint8Array): void;
  /** A frame that is too long was left out. */
  skipped?(): void;
}

/** Bytes of a frame's lengths and their checksum, and of the checksum of the whole behind its payload. */
const PRELUDE = 12;
const CHECKSUM = 4;

/**
 * Reads frame by frame, each byte once (Smithy's specification "Amazon Event Stream": lengths of the frame and of its
 * headers, headers, payload, all checked by their length alone). Other streams are not read further.
 */
export function awsFrames(handling: FrameHandling): AwsFrames {
  let room = new Uint8Array(1024);
  let used = 0;
  let wanted = PRELUDE;
  let skipped = 0;
  const endOfPrelude = (view: DataView): void => {
    const size = view.getUint32(0);
    const isFrame = PRELUDE + view.getUint32(4) + CHECKSUM <= size;
    if (isFrame && size <= handling.limit) wanted = size;
    else {
      skipped = isFrame ? size - PRELUDE : Number.POSITIVE_INFINITY;
      used = 0;
      handling.skipped?.();
    }
  };
  const endOfFrame = (view: DataView): void => {
    const head = PRELUDE + view.getUint32(4);
    handling.frame(room.subarray(PRELUDE, head), room.subarray(head, used - CHECKSUM));
    wanted = PRELUDE;
    used = 0;
  };
  return {
    push(chunk) {
      for (let at = 0; at < chunk.length;) {
        const left = chunk.length - at;
        const taken = Math.min(left, skipped > 0 ? skipped : wanted - used);
        if (skipped > 0) skipped -= taken;
        else {
          if (wanted > room.length) room = grown(room, wanted);
          room.set(chunk.subarray(at, at + taken), used);
          used += taken;
          const end = used === PRELUDE ? endOfPrelude : endOfFrame;
          if (used === wanted) end(new DataView(room.buffer));
        }
        at += taken;
      }
    },
    isOpen: () => used > 0 || skipped > 0,
  };
}

function grown(room: Uint8Array, size: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(size);
  larger.set(room);
  return larger;
}
