import { utf8 } from "../../crypto/encoding.ts";
import { envelopeBody } from "../../http/envelope.ts";
import { longResponse } from "../../http/long-response.ts";
import type { Background } from "../../ports.ts";
import { type FairSlots, inSlot } from "../../work/fair-slots.ts";
import type { OwnedWork } from "../../work/owned-work.ts";
import type { MarkdownEngine } from "../input/engine.ts";
import type { RenderingOptions } from "../job/options.ts";
import { type RenderDeps, tooLate } from "../page/render.ts";
import { within } from "../input/timers.ts";
import { selectParts } from "../select/select-parts.ts";
import { type StaticAnswer, staticMarkdown } from "./static-markdown.ts";

/** Answers a request before a browser is asked, or resolves to the request's bytes. */
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
    hasEngine: options.markdownEngine !== undefined,
  };
  return (bytes, { owner, background }, signal, onUnknown) =>
    within({ ms: requestMs, system, signal, expired: tooLate }, (inner) =>
      inSlot(slots, owner, inner, async () => {
        const answer = await background.run(staticMarkdown, { ...policy, bytes }, inner);
        if (answer.kind === "browser") return answer.bytes;
        onUnknown(answer.unknown);
        if (answer.kind === "converted") return jsonAnswer(answer.body);
        return jsonAnswer(await withEngine(answer, options.markdownEngine, background, inner));
      }),
    );
}

/** The body of an answer with the Markdown of an operator's engine, which gets a whole document as from a site. */
async function withEngine(
  { html, base, head, title }: Extract<StaticAnswer, { kind: "engine" }>,
  engine: MarkdownEngine | undefined,
  background: Background,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const page = { bytes: utf8(html), contentType: "text/html;charset=utf-8" };
  const parts = { includeTags: [], excludeTags: [] };
  const bytes = await background.run(selectParts, { ...page, ...parts }, signal);
  const markdown = await engine?.convert(new TextDecoder().decode(bytes), base);
  return utf8(JSON.stringify(envelopeBody(head + (markdown ?? ""), { meta: { title } })));
}

/** The response for a body of JSON that was written beside the event loop. */
export function jsonAnswer(body: Uint8Array<ArrayBuffer>): Response {
  return longResponse(body, {
    "content-type": "application/json; charset=utf-8",
    "content-length": String(body.byteLength),
  });
}
