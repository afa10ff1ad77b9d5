import { CRAWLER } from "./robots.ts";

/** The directives of a page for crawlers. */
export type RobotsDirectives = {
  /** It is not to be stored. */
  readonly noindex: boolean;
  /** Its links are not to be followed. */
  readonly nofollow: boolean;
};

/** Characters of one text that count. */
const LENGTH = 1000;
/** Rules that have a value after a colon, as names of crawlers have their rules. */
const VALUED = /^(?:unavailable_after|max-snippet|max-image-preview|max-video-preview)$/u;

/**
 * Reads `<meta name="robots">` and `X-Robots-Tag`, whose repeats are lines. The header may name a crawler before its rules
 * (https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag).
 */
export function readDirectives(contents: readonly string[], header: string): RobotsDirectives {
  const rules = contents.flatMap((content) => content.slice(0, LENGTH).split(","));
  for (const line of header.slice(0, LENGTH).split("\n")) rules.push(...ownRules(line));
  const said = new Set(rules.map((rule) => rule.trim().toLowerCase()));
  return {
    noindex: said.has("noindex") || said.has("none"),
    nofollow: said.has("nofollow") || said.has("none"),
  };
}

/** Returns the rules of a header line that are for every crawler, or for this one. */
function ownRules(line: string): string[] {
  const rules: string[] = [];
  let isOwn = true;
  for (const part of line.split(",")) {
    const colon = part.indexOf(":");
    const name = part.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (colon === -1) {
      if (isOwn) rules.push(part);
    } else if (!VALUED.test(name)) {
      isOwn = name === CRAWLER.toLowerCase();
      if (isOwn) rules.push(part.slice(colon + 1));
    }
  }
  return rules;
}
