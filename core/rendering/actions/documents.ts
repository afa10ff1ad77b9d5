import { utf8 } from "../../crypto/encoding.ts";
import type { Background } from "../../ports.ts";
import type { AccessibilityBody, SnapshotBody } from "../body.ts";
import type { ContentExtractor } from "../extractor.ts";
import { convertDocument } from "../markdown.ts";
import type { Action } from "../render.ts";
import { accessibilityAction } from "./accessibility.ts";
import { contentAction, pictureAction, visibleAction } from "./actions.ts";

/** The document as HTML, or its main content only. */
export function documentAction(
  background: Background,
  extract: ContentExtractor | null,
): Action<string> {
  return async (page, facts, signal) => {
    const html = await contentAction(page, facts, signal);
    return mainPart(html, extract, background, signal);
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

/** What a reader sees, as Markdown. */
export function markdownAction(
  frontmatter: boolean,
  background: Background,
  extract: ContentExtractor | null = null,
): Action<string> {
  return async (page, facts, signal) => {
    const seen = await visibleAction(page, facts, signal);
    const html = await mainPart(seen, extract, background, signal);
    return convertDocument({ html, base: facts.base, frontmatter }, background, signal);
  };
}

/** The accessibility tree, in the place where clients look for it. */
export function treeAction(body: AccessibilityBody): Action<unknown> {
  const tree = accessibilityAction(body);
  return async (...loaded) => ({ accessibilityTree: await tree(...loaded) });
}

/** Several of them at once. */
export function snapshotAction(
  body: SnapshotBody,
  frontmatter: boolean,
  background: Background,
): Action<Record<string, unknown>> {
  const formats = new Set(body.formats ?? ["content", "screenshot"]);
  const picture = pictureAction(body.screenshotOptions ?? {});
  const toMarkdown = markdownAction(frontmatter, background);
  return async (page, facts, signal) => {
    const parts: Record<string, unknown> = {};
    if (formats.has("content")) parts["content"] = await contentAction(page, facts, signal);
    if (formats.has("markdown")) parts["markdown"] = await toMarkdown(page, facts, signal);
    if (formats.has("accessibilityTree"))
      parts["accessibilityTree"] = await accessibilityAction({})(page, facts, signal);
    if (formats.has("screenshot"))
      parts["screenshot"] = (await picture(page, facts, signal)).base64;
    return parts;
  };
}
