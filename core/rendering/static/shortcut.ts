import { type FairSlots, inSlot } from "../../work/fair-slots.ts";
import type { OwnedWork } from "../../work/owned-work.ts";
import type { RenderingOptions } from "../options.ts";
import { type RenderDeps, tooLate } from "../render.ts";
import { within } from "../timers.ts";
import { staticMarkdown } from "./static-markdown.ts";

/** What may answer a request before a browser is asked, else gives its bytes on. */
export type Shortcut = (
  bytes: Uint8Array<ArrayBuffer>,
  work: OwnedWork,
  signal: AbortSignal,
  onUnknown: (messages: readonly string[]) => void,
) => Promise<Response | Uint8Array<ArrayBuffer>>;

/** Answers what needs no browser: in its turn, within the request's time, beside the event loop. */
export function staticShortcut(
  options: RenderingOptions,
  { system, requestMs }: RenderDeps,
  slots: FairSlots,
): Shortcut {
  const policy = {
    allowHosts: options.allowHosts ?? [],
    caps: { ...options.timeouts },
    unsafeRegex: options.unsafeRegex === true,
    frontmatter: options.frontmatter !== false,
  };
  return (bytes, { owner, background }, signal, onUnknown) =>
    within(requestMs, system, signal, tooLate, (inner) =>
      inSlot(slots, owner, inner, async () => {
        const answer = await background.run(staticMarkdown, { ...policy, bytes }, inner);
        if (answer.kind === "browser") return answer.bytes;
        onUnknown(answer.unknown);
        return jsonAnswer(answer.body);
      }),
    );
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
