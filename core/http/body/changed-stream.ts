import { pulledStream, type StreamRead } from "../stream.ts";
import type { StreamChange } from "../../ports.ts";

/** Passes a stream on as `change` has it, at its reader's pace. One that breaks off breaks off behind what was kept back. */
export function changedStream(
  source: ReadableStream<Uint8Array>,
  change: StreamChange,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let failure: { readonly error: unknown } | null = null;
  const read = async (): Promise<StreamRead> => {
    for (;;) {
      if (failure !== null) throw failure.error;
      const next = await reader.read().catch((error: unknown) => ({ error }));
      if ("error" in next) failure = next;
      const isLast = "error" in next || next.done;
      const value = isLast ? change.end() : change.push(next.value);
      // An error would drop unread bytes: it comes with the next pull.
      const done = isLast && failure === null;
      if (done) return { done, value };
      if (value.length > 0) return { done: false, value };
    }
  };
  return pulledStream(read, (reason) => reader.cancel(reason));
}
