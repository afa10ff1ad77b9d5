import { mayWriteOn } from "../shared/http/may-write-on.ts";
import type { Readable, Writable } from "node:stream";

/** Bytes read of a body that is not needed. */
const MAX_DRAINED = 64 * 1024 * 1024;

/**
 * Sends a body at the pace of the other side, and ends the connection's direction with it: cleanly, or by breaking it off
 * when the body breaks. When the other side leaves, an answer is cancelled. An upload is read on and dropped: otherwise its
 * client's connection would break before it reads the answer that tells why.
 */
export async function sendBody(
  body: ReadableStream<Uint8Array>,
  to: Writable,
  whenLeft: "cancel" | "drain",
): Promise<void> {
  const reader = body.getReader();
  const cancel = (): void => {
    reader.cancel().catch(() => undefined);
  };
  if (whenLeft === "cancel") to.once("close", cancel);
  let drained = 0;
  try {
    for (;;) {
      const { value } = await reader.read();
      if (value === undefined) break;
      if (to.destroyed) drained += value.length;
      else if (value.length > 0 && !to.write(value)) await mayWriteOn(to);
      if (drained > MAX_DRAINED) return;
    }
    to.end();
  } catch {
    to.destroy();
  }
}

/** Returns what follows on a connection as a body that is read at its reader's pace. One that breaks off errors. */
export function bodyOf(
  from: Readable,
  onCancel: () => void,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const chunks = from.iterator({ destroyOnReturn: false });
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done === true) controller.close();
          else controller.enqueue(new Uint8Array(value as Buffer));
        } catch {
          controller.error(new TypeError("The process at the other end is gone"));
        }
      },
      cancel: onCancel,
    },
    { highWaterMark: 0 },
  );
}
