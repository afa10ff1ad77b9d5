/** A stream that breaks off after so many of its events, as a lost connection does. */
export function cutAfter(
  source: ReadableStream<Uint8Array>,
  events: number,
): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  const decoder = new TextDecoder();
  let seen = "";
  let isCut = false;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Only now: an error overtakes what is not read yet.
        if (isCut) throw new TypeError("The connection was lost");
        const { done, value } = await reader.read();
        if (done) return controller.close();
        seen += decoder.decode(value, { stream: true });
        const end = endOf(seen, events);
        if (end === -1) return controller.enqueue(value);
        const excess = new TextEncoder().encode(seen.slice(end)).length;
        controller.enqueue(value.slice(0, value.length - excess));
        isCut = true;
        await reader.cancel();
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

function endOf(text: string, events: number): number {
  let end = 0;
  for (let i = 0; i < events; i++) {
    const at = text.indexOf("\n\n", end);
    if (at === -1) return -1;
    end = at + 2;
  }
  return end;
}
