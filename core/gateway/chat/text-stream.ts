import { utf8 } from "../../crypto/encoding.ts";

/**
 * Texts that are made of a byte stream, as bytes, one text per pull. Leaving it ends the source, also before the first
 * text and while one is waited for: `make` is given a signal for that.
 */
export function textStream(
  source: ReadableStream<Uint8Array>,
  make: (source: ReadableStream<Uint8Array>, left: AbortSignal) => AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  const left = new AbortController();
  const texts = make(source, left.signal);
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await texts.next();
        if (done === true) controller.close();
        else controller.enqueue(utf8(value));
      },
      async cancel(reason) {
        left.abort(reason);
        // A generator that has not begun would never read it.
        if (!source.locked) await source.cancel(reason);
        await texts.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
