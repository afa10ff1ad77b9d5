import type { Step } from "../../call/call.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { isLoggedType, loggedBody } from "./log-row.ts";
import type { LoggedBody } from "../../call/ended-attempt.ts";
import { bytePieces } from "../../wire/byte-pieces.ts";

/** The step whose body, when it streams through, leaves its first bytes to the log row, as many as that keeps. */
export function withHeadKept(step: Step, keptBytes: () => number): Step {
  const { body, headers } = step;
  if (!(body instanceof ReadableStream)) return step;
  const keep = keptBytes();
  if (keep === 0 || !isLoggedType(headerValue(headers, "content-type") ?? "")) return step;
  return { ...step, ...passingBody(body, keep) };
}

/** The same stream, chunk by chunk, and what has passed of it so far. */
function passingBody(
  source: ReadableStream<Uint8Array>,
  keep: number,
): { readonly body: ReadableStream<Uint8Array>; readonly passed: () => LoggedBody } {
  const reader = source.getReader();
  const head = bytePieces();
  let size = 0;
  let isWhole = false;
  const take = (chunk: Uint8Array): void => {
    size += chunk.length;
    // A copy: the chunk goes on to a provider, and may be part of something large.
    if (head.size < keep) head.add(chunk.slice(0, keep - head.size));
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read();
        if (done) {
          isWhole = true;
          return controller.close();
        }
        take(value);
        controller.enqueue(value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    passed() {
      const kept = loggedBody(textOf(head.list), size, keep);
      return isWhole ? kept : { ...kept, complete: false };
    },
  };
}

/** The text of UTF-8 in pieces; a character that the end cuts in two is left out. */
function textOf(pieces: readonly Uint8Array[]): string {
  const decoder = new TextDecoder();
  return pieces.map((piece) => decoder.decode(piece, { stream: true })).join("");
}
