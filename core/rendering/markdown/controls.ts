import type { Attributes } from "./html-events.ts";

/** Whether a button copies code: by its class, its label, or the attribute of clipboard.js. */
export function copiesCode(attributes: Attributes): boolean {
  if (attributes["data-clipboard-text"] !== undefined) return true;
  if (attributes["data-clipboard-target"] !== undefined) return true;
  return ["class", "aria-label", "title"].some((name) =>
    /\b(?:copy|clipboard)|copy(?:button|btn|-)/iu.test((attributes[name] ?? "").slice(0, 500)),
  );
}

/**
 * Classes of the link to a heading that stands inside of it: Sphinx and MkDocs `headerlink`, VuePress and VitePress
 * `header-anchor`, Docusaurus `hash-link`, AnchorJS `anchorjs-link`, Jekyll and GitHub `anchor` and `heading-anchor`.
 */
const PERMALINKS =
  /(?:^|\s)(?:headerlink|header-?anchor|hash-link|anchorjs-link|(?:heading|section)-?anchor|anchor-?link|anchor|permalink)(?:\s|$)/iu;

/** Whether a link is the mark beside a heading that leads to itself. */
export function isPermalink(attributes: Attributes): boolean {
  const { href, class: classes } = attributes;
  if (classes === undefined || href?.includes("#") !== true) return false;
  return PERMALINKS.test(classes.slice(0, 500));
}
