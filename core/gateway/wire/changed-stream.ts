import type { StreamChange } from "../../ports.ts";

/** Passes a stream on as `change` has it, at its reader's pace. One that breaks off breaks off behind what was kept back. */
export function changedStream(
  source: ReadableStream<Uint8Array>,
  change: StreamChange,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let failure: { readonly error: unknown } | null = null;
  const failed = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (failure !== null) controller.error(failure.error);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (failure !== null) return failed(controller);
        for (;;) {
          const next = await reader.read().catch((error: unknown) => ({ error }));
          if ("error" in next) {
            failure = next;
            const last = change.end();
            // An error would drop what is not read yet: it comes with the next pull.
            if (last.length === 0) failed(controller);
            else controller.enqueue(last);
            return;
          }
          const bytes = next.done ? change.end() : change.push(next.value);
          if (bytes.length > 0) controller.enqueue(bytes);
          if (next.done) controller.close();
          if (next.done || bytes.length > 0) return;
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
