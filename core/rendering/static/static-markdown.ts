import { utf8 } from "../../crypto/encoding.ts";
import { readJsonBytes } from "../../http/fields/body.ts";
import { envelopeBody } from "../../http/envelope.ts";
import { parseAllowHosts } from "../../net/allow-hosts.ts";
import type { LongTask } from "../../ports.ts";
import { jobWith, type Job } from "../job/job.ts";
import { documentSchema } from "../job/schema.ts";
import type { DocumentBody } from "../input/body.ts";
import type { TimerCaps } from "../input/timers.ts";

/** A request for Markdown, as it came, and what the operator decides about it. */
export type StaticRequest = {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly allowHosts: readonly string[];
  readonly caps: TimerCaps & { readonly [name: string]: number | undefined };
  readonly unsafeRegex: boolean;
  readonly frontmatter: boolean;
  /** Whether an operator's engine converts, which cannot be taken to a thread. */
  readonly hasEngine: boolean;
};

/** The body of the answer, or what an engine needs for it; or that a browser is needed, with the request's bytes. */
export type StaticAnswer =
  | {
      readonly kind: "converted";
      readonly body: Uint8Array<ArrayBuffer>;
      readonly unknown: readonly string[];
    }
  | {
      readonly kind: "engine";
      readonly html: string;
      readonly base: string | null;
      /** The frontmatter, or nothing. */
      readonly head: string;
      readonly title: string;
      readonly unknown: readonly string[];
    }
  | { readonly kind: "browser"; readonly bytes: Uint8Array<ArrayBuffer> };

/**
 * Answers a request for Markdown that needs no browser, from its bytes to those of the answer: of 45 MB, parsing and
 * writing the JSON alone would stop the event loop for a third of a second. Throws as reading the body does.
 */
export const staticMarkdown: LongTask<StaticRequest, StaticAnswer> = {
  name: "rendering/static-markdown",
  async load() {
    const { conversion } = await import("../markdown/convert.ts");
    const { patternCompiler } = await import("../job/patterns.ts");
    return function* ({ bytes, allowHosts, caps, unsafeRegex, frontmatter, hasEngine }) {
      const { output, unknown } = readJsonBytes(bytes, documentSchema);
      const policy = { allow: parseAllowHosts(allowHosts), caps, unsafeRegex };
      const job = jobWith(patternCompiler, output, policy);
      const { extract, includeTags, excludeTags } = output;
      const isPart = [extract, includeTags, excludeTags].some((field) => field !== undefined);
      if (isPart || !isStatic(job)) return { kind: "browser", bytes };
      yield;
      const base = job.url?.href ?? null;
      const { html = "" } = output;
      const { head, markdown, title } = yield* conversion(html, { base, frontmatter });
      if (hasEngine) return { kind: "engine", html, base, head, title, unknown };
      yield;
      const body = JSON.stringify(envelopeBody(markdown, { meta: { title } }));
      return { kind: "converted", body: utf8(body), unknown };
    };
  },
};

/**
 * Whether Markdown can be made of a job's `html` without a browser: nothing in the body needs one, and the
 * markup brings no script (or scripts are off), so that a browser would show the same document.
 */
function isStatic({ body }: Job): boolean {
  const { html, render, setJavaScriptEnabled } = body;
  // Asked for by name, it also tells of fields that have no effect, and which of the two it was.
  if (render === false || render === "auto") return false;
  if (html === undefined || needsPage(body)) return false;
  return setJavaScriptEnabled === false || !mayRunScript(html);
}

/** Whether a body asks for what only a browser's page has: its layout, its files, or something to do with it. */
function needsPage(body: DocumentBody): boolean {
  const { actions = [], addScriptTag = [], addStyleTag = [] } = body;
  const { waitForFunction, waitForSelector, emulateMediaType } = body;
  const { failOnResource, hideCookieBanners, removeOverlays } = body;
  if (actions.length + addScriptTag.length + addStyleTag.length > 0) return true;
  if ([failOnResource, hideCookieBanners, removeOverlays].includes(true)) return true;
  return [waitForFunction, waitForSelector, emulateMediaType].some((field) => field !== undefined);
}

/** Whether markup may run a script. A mere mention of one counts, and so does a frame that brings its markup. */
function mayRunScript(html: string): boolean {
  return /<script|<meta[^>]{0,200}refresh|\son[a-z]{3,30}\s{0,20}=|\ssrcdoc\s{0,20}=/iu.test(html);
}
