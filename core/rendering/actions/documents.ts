import { utf8 } from "../../crypto/encoding.ts";
import type { Background } from "../../ports.ts";
import { describePage } from "../describe/describe-page.ts";
import type { PageDescription } from "../describe/page-description.ts";
import type { AccessibilityBody, DocumentBody, SnapshotBody } from "../input/body.ts";
import type { ContentExtractor } from "../input/extractor.ts";
import type { MarkdownEngine } from "../input/engine.ts";
import { convertDocument, documentHead } from "../input/markdown.ts";
import type { Action } from "../page/render.ts";
import { accessibilityAction } from "./accessibility.ts";
import type { OnMissingFonts } from "../input/missing-fonts.ts";
import { contentAction, pictureAction, visibleAction } from "./actions.ts";

/** The document as HTML, or the parts of it that the body asks for. */
export function documentAction(
  body: DocumentBody,
  background: Background,
  extract: ContentExtractor | null,
): Action<string> {
  const whole = contentAction(body);
  return async (page, facts, signal) => {
    const html = await whole(page, facts, signal);
    return mainPart(html, extract, background, signal);
  };
}

/** Reads a page's description of itself if its main content is asked for; a whole document keeps it. */
export function describeAction(
  { extract }: DocumentBody,
  background: Background,
): Action<PageDescription> | undefined {
  if (extract === undefined) return undefined;
  const whole = contentAction();
  return async (page, facts, signal) => {
    const bytes = utf8(await whole(page, facts, signal));
    const contentType = "text/html;charset=utf-8";
    return background.run(describePage, { bytes, contentType, url: facts.base }, signal);
  };
}

/** The main content of a document; the document itself without an extractor. */
async function mainPart(
  html: string,
  extract: ContentExtractor | null,
  background: Background,
  signal: AbortSignal,
): Promise<string> {
  if (extract === null) return html;
  const contentType = "text/html;charset=utf-8";
  const found = await background.run(extract, { bytes: utf8(html), contentType }, signal);
  return new TextDecoder().decode(found);
}

/** The parts of a page that become Markdown, and the converter that makes it. */
export interface MarkdownParts {
  readonly extract: ContentExtractor | null;
  readonly body: DocumentBody;
  /** @default causey's converter */
  readonly engine?: MarkdownEngine | undefined;
}

/** Makes the action that reads what a reader sees, as Markdown. */
export function markdownAction(
  frontmatter: boolean,
  background: Background,
  { extract, body, engine }: MarkdownParts,
): Action<string> {
  const visible = visibleAction(body);
  return async (page, facts, signal) => {
    const seen = await visible(page, facts, signal);
    const html = await mainPart(seen, extract, background, signal);
    const request = { html, base: facts.base, frontmatter };
    if (engine === undefined) return convertDocument(request, background, signal);
    const { head } = await background.run(documentHead, request, signal);
    return head + (await engine.convert(html, facts.base));
  };
}

/** The accessibility tree, in the place where clients look for it. */
export function treeAction(body: AccessibilityBody, background: Background): Action<unknown> {
  const tree = accessibilityAction(body, background);
  return async (...loaded) => ({ accessibilityTree: await tree(...loaded) });
}

export interface SnapshotDeps {
  readonly frontmatter: boolean;
  readonly background: Background;
  readonly onMissing: OnMissingFonts;
  readonly engine: MarkdownEngine | undefined;
}

/** Several of them at once. */
export function snapshotAction(
  body: SnapshotBody,
  { frontmatter, background, onMissing, engine }: SnapshotDeps,
): Action<Record<string, unknown>> {
  const formats = new Set(body.formats ?? ["content", "screenshot"]);
  const picture = pictureAction(body.screenshotOptions ?? {}, onMissing);
  const whole = contentAction();
  const toMarkdown = markdownAction(frontmatter, background, { extract: null, body: {}, engine });
  return async (page, facts, signal) => {
    const parts: Record<string, unknown> = {};
    if (formats.has("content")) parts["content"] = await whole(page, facts, signal);
    if (formats.has("markdown")) parts["markdown"] = await toMarkdown(page, facts, signal);
    if (formats.has("accessibilityTree"))
      parts["accessibilityTree"] = await accessibilityAction({}, background)(page, facts, signal);
    if (formats.has("screenshot"))
      parts["screenshot"] = (await picture(page, facts, signal)).base64;
    return parts;
  };
}
