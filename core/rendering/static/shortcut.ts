import type { Background } from "../../ports.ts";
import type { RenderingOptions } from "../options.ts";
import { type RenderDeps, tooLate } from "../render.ts";
import type { RenderSlots } from "../slots.ts";
import { within } from "../timers.ts";
import { staticMarkdown } from "./static-markdown.ts";

/** What may answer a request before a browser is asked, else gives its bytes on. */
export type Shortcut = (
  bytes: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
  onUnknown: (messages: readonly string[]) => void,
) => Promise<Response | Uint8Array<ArrayBuffer>>;

/** Answers what needs no browser: in its turn, within the request's time, beside the event loop. */
export function staticShortcut(
  options: RenderingOptions,
  background: Background,
  { system, requestMs }: RenderDeps,
  slots: RenderSlots,
): Shortcut {
  const policy = {
    allowHosts: options.allowHosts ?? [],
    caps: { ...options.timeouts },
    unsafeRegex: options.unsafeRegex === true,
    frontmatter: options.frontmatter !== false,
  };
  return (bytes, signal, onUnknown) =>
    within(requestMs, system, signal, tooLate, async (inner) => {
      const free = await slots.take(inner);
      try {
        const answer = await background.run(staticMarkdown, { ...policy, bytes }, inner);
        if (answer.kind === "browser") return answer.bytes;
        onUnknown(answer.unknown);
        return jsonAnswer(answer.body);
      } finally {
        free();
      }
    });
}

/** The response for a body of JSON that was written beside the event loop. */
export function jsonAnswer(body: Uint8Array<ArrayBuffer>): Response {
  return new Response(body, {
    headers: {
      "content-type": "application/json; charset=utf-8",
      "content-length": String(body.byteLength),
    },
  });
}
