import type { ParsedDocument } from "./document.ts";

/** The kinds of page whose content lies differently: one text, a thread of posts, one product, or anything else. */
export type PageKind = "article" | "forum" | "product" | "other";

/** Forum software as it names itself in `meta name="generator"`. */
const FORUMS = /discourse|phpbb|vbulletin|xenforo|invision|flarum|mybb|simple machines|nodebb/iu;

/** Ids and classes by which the forums are known that do not name themselves: XenForo, phpBB, Invision, vBulletin, Stack Exchange. */
const FORUM_PARTS =
  "#XF,#phpbb,#ipsLayout_body,#vbulletin_html,.bbWrapper,.postbody,.ipsComment_content,body.question-page";

/** Types of schema.org, in JSON-LD or as microdata. */
const THREAD = /^(?:DiscussionForumPosting|QAPage)$/u;
const PRODUCT = /^Product(?:Group)?$/u;
const TEXT = /^(?:\w*Article|BlogPosting|Report|LiveBlogPosting)$/u;

/** Texts that are sold themselves (schema.org, "subscription and paywalled content"). */
const NEWS = /^\w*NewsArticle$/u;

/** Characters of JSON-LD that are looked at: its types come first. */
const DATA = 200_000;

/** Returns the kind of a page, as it says itself. */
export function pageKindOf(document: ParsedDocument): PageKind {
  const types = typesOf(document);
  const generator = contentOf(document, "meta[name=generator]");
  const isForum = FORUMS.test(generator) || document.querySelector(FORUM_PARTS) !== null;
  if (isForum || types.some((type) => THREAD.test(type))) return "forum";
  const says = contentOf(document, "meta[property='og:type']").toLowerCase();
  if (says.startsWith("product")) return "product";
  // A list of products has many, and an article behind a paywall names the one that it is sold with.
  const isSold = types.filter((type) => PRODUCT.test(type)).length === 1;
  const isPaywalled = types.some((type) => NEWS.test(type));
  if (isSold && !isPaywalled) return "product";
  if (says === "article" || types.some((type) => TEXT.test(type))) return "article";
  return document.querySelector("meta[property='article:published_time']") === null
    ? "other"
    : "article";
}

function contentOf(document: ParsedDocument, selector: string): string {
  return document.querySelector(selector)?.getAttribute("content")?.slice(0, 200) ?? "";
}

function typesOf(document: ParsedDocument): string[] {
  const types: string[] = [];
  for (const element of document.querySelectorAll("[itemtype]"))
    types.push(element.getAttribute("itemtype")?.split("/").at(-1)?.trim() ?? "");
  for (const script of document.querySelectorAll("script[type='application/ld+json']")) {
    const text = script.textContent?.slice(0, DATA) ?? "";
    for (const match of text.matchAll(/"@type"\s*:\s*(?:\[\s*)?"(?<type>\w{1,60})"/gu))
      types.push(match.groups?.["type"] ?? "");
  }
  return types;
}
