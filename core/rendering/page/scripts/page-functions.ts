import type { Tag } from "../../input/body.ts";

/** The source text of a function that runs in the page, which is compiled from `page-scripts/`. */
export type PageScript<Run> = string & { readonly [runs]: Run };
declare const runs: unique symbol;

/** The functions of `page-scripts/`: what they take and return passes as JSON. */
export interface PageFunctions {
  /** Adds a script or style element; waits until one with a URL has loaded, if it can be waited for here. */
  addTag(kind: "script" | "style", tag: Tag, waits: boolean): Promise<true>;

  /**
   * Keeps the text that a function makes, for `restOfText`, and returns its beginning: `part` characters. A text longer than
   * `limit` is not kept.
   */
  beginText<Args extends unknown[]>(
    make: TextMaker<Args>,
    sizes: TextSizes,
    args: Args,
  ): TextBeginning;

  /** Brings a selector's first match into view, and returns its middle in the window; null when there is none that has a box. */
  bringIntoView(selector: string): Point | null;

  /** Adds a rule to the document, and returns its height in CSS pixels. */
  contentHeight(rule: string): number;

  /** Counts elements and texts, up to `most`. */
  countNodes(most: number): number;

  /**
   * Finds characters that no font has, among the first 100,000 of the page. If `waits` is set, the fonts that the page uses are
   * waited for; without, the list is empty while they load.
   */
  findMissingGlyphs(waits: boolean): string[] | Promise<string[]>;

  /** Describes the first match of a selector. */
  findSelector(selector: string): "absent" | "hidden" | "visible";

  /** Hides banners that ask for consent, or layers that cover the page, and returns the number of both. */
  hideCovers(banners: boolean, overlays: boolean): number;

  /** Whether the style sheet that was added last is there. */
  lastSheetLoaded(): boolean;

  /** Makes the layout, and has lazy pictures load if `all` is set; returns addresses of pictures that came and cannot be shown. */
  layOut(all: boolean): string[];

  /** Returns the place of a selector's first match in the document; null when there is none. */
  locateElement(selector: string): PageBox | null;

  /** Makes `form.submit()`, which stops the parser before any event, do nothing: for the page's own world. */
  neverSubmit(): void;

  /** Returns the document as HTML, with its doctype; of its body the parts that selectors leave. */
  readDocument: TextMaker<[include: readonly string[], exclude: readonly string[]]>;

  readFacts(): PageFacts;

  /** Returns JSON of the addresses of all links, optionally of visible or same-site ones only. */
  readLinks: TextMaker<[visibleOnly: boolean, sameHostOnly: boolean]>;

  /** Returns what a reader sees of the document, or of the parts that selectors leave, as HTML for the converter. */
  readVisible: TextMaker<[include: readonly string[], exclude: readonly string[]]>;

  /** Returns a further part of the text that was begun; null when that is gone. */
  restOfText(mark: number, at: number, part: number): string | null;

  /** Returns JSON of what `/scrape` returns about the matches of some selectors. */
  scrapeElements: TextMaker<[selectors: readonly string[]]>;

  /** Scrolls the page, or a selector's first match, by one screen. Returns false when nothing matches. */
  scrollByScreen(selector: string | null, direction: "up" | "down"): boolean;

  /** Scrolls to a place; returns the next one in pixels, or null at the end, from where it scrolls back to the top. */
  scrollStep(at: number): number | null;

  /** Cancels every navigation to another document from now on. */
  stayOnPage(): void;
}

/**
 * Makes a text within bounds. It returns the number of things instead when they are too many, and an object with the length of a text
 * that is too long.
 */
export type TextMaker<Args extends unknown[]> = (
  ...args: [...args: Args, bounds: TextBounds]
) => string | number | { readonly length: number };

/** The most characters that a text may have, and the most things. */
export interface TextBounds {
  readonly limit: number;
  readonly most: number;
}

/** The bounds of a text, and how much of it comes at a time. */
export interface TextSizes extends TextBounds {
  readonly part: number;
}

/** The beginning of a text. */
export interface TextBeginning {
  readonly length: number;
  readonly first: string;
  /** Things that were found, where they are too many. */
  readonly count?: number;
  readonly mark: number;
}

/** Facts of a document, as the page has them. */
export interface PageFacts {
  readonly title: string;
  /** The address that relative links start from. */
  readonly base: string;
  readonly url: string;
  /** Whether there is nothing in the document. */
  readonly empty: boolean;
  /** Whether all fonts are there, and no letter is one that a font may lack. */
  readonly drawable: boolean;
}

/** A place in CSS pixels. */
interface Point {
  readonly x: number;
  readonly y: number;
}

export interface PageBox extends Point {
  readonly width: number;
  readonly height: number;
}
