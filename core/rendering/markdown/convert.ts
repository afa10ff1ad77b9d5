import { runThrough } from "../../work/background.ts";
import { flushBlock, flushPre, newContext, noLink, type Context } from "./context.ts";
import { elements, noscriptImage } from "./elements.ts";
import { isVoid, readHtml, type Attributes, type HtmlHandler } from "./html-events.ts";
import { isInvisible, isLeftOut } from "./left-out.ts";
import {
  addToMath,
  closeInMath,
  hasMathScripts,
  isFrameOfScript,
  openInMath,
  openMathScript,
} from "./math-elements.ts";
import { closeInMedia, openInMedia, openMedia } from "./media.ts";
import {
  addInside,
  breakLine,
  closeInside,
  isBesideCode,
  openInside,
  type Preformatted,
} from "./preformatted.ts";
import { absolute } from "./urls.ts";

/** Options of {@link convertHtml}. */
export interface MarkdownOptions {
  /** The base of relative addresses, unless the document has a `base`; null leaves them as they are. */
  readonly base: string | null;
  /** Whether YAML frontmatter with title, description and image comes first. */
  readonly frontmatter: boolean;
}

export interface Converted {
  readonly markdown: string;
  readonly title: string;
  /** The frontmatter that it begins with. */
  readonly head: string;
}

/**
 * Converts HTML to GitHub's Markdown in one pass over the tokens: no tree is built and nothing recurses, so
 * that time and memory grow with the size of the document only. It never throws on any input.
 */
export function convertHtml(html: string, options: MarkdownOptions): Converted {
  return runThrough(conversion(html, options));
}

/** Runs {@link convertHtml} in steps. */
export function* conversion(
  html: string,
  options: MarkdownOptions,
): Generator<void, Converted, void> {
  const context = newContext(options.base);
  yield* readHtml(html, handlerOf(context, html));
  flushBlock(context);
  const title = (context.title ?? "").replaceAll(/\s+/gu, " ").trim();
  const facts = {
    title: title || context.metaTitle,
    description: context.description,
    image: context.image,
  };
  const head = options.frontmatter ? frontmatterOf(facts) : "";
  return { markdown: head + context.writer.finish(), title, head };
}

/** Elements that have a meaning inside code too. */
const insideCode = new Set(["code", "kbd", "samp", "tt", "pre"]);

function handlerOf(context: Context, html: string): HtmlHandler {
  let hasScripts: boolean | undefined;
  /** Looked for once, in the first page that MathJax 2 has drawn in. */
  const isDrawnTwice = (attributes: Attributes): boolean =>
    isFrameOfScript(attributes) && (hasScripts ??= hasMathScripts(html));
  const isSkipped = (name: string, attributes: Attributes): boolean =>
    context.skipped > 0 || isLeftOut(name, attributes) || isDrawnTwice(attributes);
  return {
    open(name, attributes) {
      if (openUnseen(context, name, attributes)) return;
      if (isSkipped(name, attributes)) {
        if (!isVoid(name)) context.skipped += 1;
        return;
      }
      if (context.math !== null) return openInMath(context.math, name, attributes);
      if (name === "title") {
        // The first title counts; what follows are titles of something else.
        context.readingTitle = context.title === null;
        context.title ??= "";
        return;
      }
      if (name === "base") return setBase(context, attributes);
      const { pre } = context;
      if (pre !== null) return openInPre(context, pre, name, attributes);
      if (context.code.depth > 0 && !insideCode.has(name)) return openInCode(context, name);
      elements.get(name)?.open?.(context, attributes);
    },
    close(name) {
      if (context.skipped > 0) {
        context.icon.isOpen = false;
        return void (context.skipped -= 1);
      }
      if (context.inNoscript) return void (context.inNoscript = name !== "noscript");
      if (context.media !== null) return closeInMedia(context, context.media);
      if (context.math !== null) return closeInMath(context, context.math, name);
      if (name === "title") return void (context.readingTitle = false);
      const { pre } = context;
      if (pre !== null) return closeInPre(context, pre, name);
      if (context.code.depth > 0 && !insideCode.has(name)) {
        if (name === "a") context.links.pop();
        return;
      }
      elements.get(name)?.close?.(context);
    },
    text(text) {
      if (context.skipped > 0) {
        if (context.icon.isOpen) context.icon.text += text;
        return;
      }
      if (context.media !== null || context.inNoscript) return;
      if (context.readingTitle) context.title += text;
      else if (context.math !== null) addToMath(context.math, text);
      else if (context.pre !== null) addInside(context.pre, text);
      else if (context.code.depth > 0) context.code.text += text;
      else context.inline.text(text);
    },
  };
}

/** Hidden elements whose contents may still matter. */
const telling: ReadonlySet<string> = new Set(["audio", "noscript", "script", "video"]);

/** Opens a hidden element whose contents matter; false for any other element. */
function openUnseen(context: Context, name: string, attributes: Attributes): boolean {
  if (context.media !== null) {
    openInMedia(context, context.media, name, attributes);
    return true;
  }
  if (context.skipped > 0) {
    // An icon's title is the text of a link without any.
    if (name === "title" && context.links.length > 0) context.icon = { isOpen: true, text: "" };
    return false;
  }
  if (context.inNoscript) {
    if (name === "img") noscriptImage(context, attributes);
    return true;
  }
  if (!telling.has(name) || context.math !== null || context.pre !== null) return false;
  if (name === "noscript") return (context.inNoscript = true);
  if (name === "script") return openMathScript(context, attributes);
  if (isInvisible(name, attributes)) return false;
  openMedia(context, attributes);
  return true;
}

function openInPre(
  context: Context,
  pre: Preformatted,
  name: string,
  attributes: Attributes,
): void {
  if (isVoid(name)) return name === "br" ? breakLine(pre) : undefined;
  if (isBesideCode(name, attributes)) return void (context.skipped = 1);
  if (name === "a") context.links.push(noLink());
  openInside(pre, name, attributes);
}

function closeInPre(context: Context, pre: Preformatted, name: string): void {
  // The element that began it.
  if (pre.open.length === 0) return flushPre(context);
  if (name === "a") context.links.pop();
  closeInside(pre);
}

/** Inside a code span nothing but text counts. */
function openInCode(context: Context, name: string): void {
  if (name === "a") context.links.push(noLink());
  if (name === "br") context.code.text += " ";
}

function setBase(context: Context, attributes: Attributes): void {
  const href = attributes["href"];
  if (href === undefined || context.baseSet) return;
  context.baseSet = true;
  const base = absolute(href, context.base);
  if (/^https?:/iu.test(base)) context.base = base;
}

/** A page's description of itself. */
interface PageFacts {
  readonly title: string;
  readonly description: string;
  readonly image: string;
}

/** Characters of one value. */
const VALUE_LIMIT = 2000;

/** Writes the known facts as YAML frontmatter; empty without any. */
function frontmatterOf(facts: PageFacts): string {
  const lines = Object.entries(facts)
    .filter(([, value]) => value !== "")
    .map(([key, value]) => `${key}: ${quoted(value)}`);
  return lines.length === 0 ? "" : `---\n${lines.join("\n")}\n---\n\n`;
}

/** Writes a double-quoted YAML scalar: JSON's quoting, with what YAML calls unprintable escaped too. */
function quoted(value: string): string {
  const json = JSON.stringify(value.slice(0, VALUE_LIMIT));
  return json.replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/gu, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
