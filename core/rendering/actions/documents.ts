import type { Background } from "../../ports.ts";
import type { AccessibilityBody, SnapshotBody } from "../body.ts";
import { convertDocument } from "../markdown.ts";
import type { Action } from "../render.ts";
import { accessibilityAction } from "./accessibility.ts";
import { contentAction, pictureAction, visibleAction } from "./actions.ts";

/** What a reader sees, as Markdown. */
export function markdownAction(frontmatter: boolean, background: Background): Action<string> {
  return async (page, facts, signal) => {
    const html = await visibleAction(page, facts, signal);
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
