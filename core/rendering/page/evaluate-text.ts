import { ApiError } from "../../http/api-error.ts";
import { evaluate } from "./evaluate.ts";
import { beginText, restOfText } from "./scripts/page-scripts.ts";
import type { PageScript, TextBeginning, TextMaker, TextSizes } from "./scripts/page-functions.ts";
import type { Page } from "./page.ts";

/** Characters of a text that is read from a page: of its HTML, its links or what selectors find. */
export const PAGE_TEXT_LIMIT: number = 16 * 1024 * 1024;

/** Characters that come at a time: a millisecond of work. */
const PART = 256 * 1024;

/** How often a text is begun again whose page went to another document meanwhile. */
const ATTEMPTS = 5;

/** A text that is wanted of a page. */
export interface WantedText {
  /** The action whose result it is. */
  readonly action: string;
  /** The subject of the refusal of a text that is too long, such as "The page". */
  readonly what: string;
  /** The way to ask for less, for the same refusal. */
  readonly hint: string;
}

/** The text that is wanted, and how much of it. */
export interface TextLimits {
  readonly wanted: WantedText & { readonly most?: number; readonly things?: string };
  readonly signal: AbortSignal;
}

/**
 * Runs a function of the page that makes a text, and reads that in parts, so that others go on in between. A text that is
 * too long stays in the page. The function returns the number of things that it has found instead if they are more than
 * `most`.
 *
 * @throws ApiError `page_too_large`
 */
export async function evaluateText<Args extends unknown[]>(
  page: Page,
  maker: PageScript<TextMaker<Args>>,
  args: NoInfer<Args>,
  { wanted, signal }: TextLimits,
): Promise<string> {
  const { most = 0, things = "" } = wanted;
  const sizes = { limit: PAGE_TEXT_LIMIT, most, part: PART };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const begun = await evaluate(page, beginning(maker), [sizes, args], signal);
    if (begun.count !== undefined) throw tooLarge(wanted, `${begun.count} ${things}`, most);
    if (begun.length > PAGE_TEXT_LIMIT)
      throw tooLarge(wanted, `${begun.length} characters`, PAGE_TEXT_LIMIT);
    const text = await readRest(page, begun, signal);
    if (text !== null) return text;
  }
  throw new ApiError("context_destroyed");
}

/** Gives the function that begins a text the one that makes it: a call could not pass a function. */
function beginning<Args extends unknown[]>(
  maker: PageScript<TextMaker<Args>>,
): PageScript<(sizes: TextSizes, args: Args) => TextBeginning> {
  const source = `function(sizes,args){return(${beginText})(${maker},sizes,args)}`;
  return source as PageScript<(sizes: TextSizes, args: Args) => TextBeginning>;
}

/** The failure of an action that found too much. */
export function tooLarge(
  { action, what, hint }: WantedText,
  found: string,
  most: number | string,
): ApiError {
  return new ApiError("page_too_large", {
    message: `${action}: ${what} has ${found}, and an answer may have ${most}: ${hint}`,
  });
}

/** The whole text; null when its document is gone. */
async function readRest(
  page: Page,
  { first, length, mark }: TextBeginning,
  signal: AbortSignal,
): Promise<string | null> {
  const parts = [first];
  for (let at = first.length; at < length;) {
    const part = await evaluate(page, restOfText, [mark, at, PART], signal);
    if (part === null || part === "") return null;
    parts.push(part);
    at += part.length;
  }
  return parts.length === 1 ? first : parts.join("");
}
