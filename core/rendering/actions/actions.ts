import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type {
  DocumentBody,
  LinksBody,
  ScrapeBody,
  ScreenshotOptions,
  ScreenshotBody,
} from "../input/body.ts";
import { JsonText } from "../../http/json/json-pieces.ts";
import { type CdpData, CdpError } from "../cdp/cdp.ts";
import { evaluate } from "../page/evaluate.ts";
import { evaluateText, tooLarge, type WantedText } from "../page/evaluate-text.ts";
import { MESSAGE_LIMIT } from "../cdp/long-answer.ts";
import {
  findMissingGlyphs,
  locateElement,
  readDocument,
  readLinks,
  readVisible,
  scrapeElements,
  scrollStep,
} from "../page/scripts/page-scripts.ts";
import type { PageBox } from "../page/scripts/page-functions.ts";
import type { Page } from "../page/page.ts";
import { AREA_LIMIT } from "../job/job.ts";
import type { System } from "../../ports.ts";
import { fontsFor, type OnMissingFonts } from "../input/missing-fonts.ts";
import { waitForFiles } from "../page/wait-for-files.ts";
import type { Action } from "../page/render.ts";

const picture = (share: number): WantedText => ({
  action: "screenshot",
  what: "The picture",
  hint: `take parts of at most ${Math.floor(share * 100)} % of its area with screenshotOptions.clip, or screenshotOptions.type "jpeg"`,
});

/**
 * Has a page drawn. `wanted` receives the share of what was drawn that fits.
 *
 * @throws ApiError `page_too_large` when that has more bytes than a message may have in base64
 */
export async function capture(
  page: Page,
  method: string,
  wanted: (share: number) => WantedText,
  parameters: CdpData,
): Promise<CdpData> {
  const bytesIn = (base64: number): number => Math.floor((base64 / 4) * 3);
  return page.call(method, parameters).catch((error: unknown) => {
    if (!(error instanceof CdpError) || error.size === undefined) throw error;
    const share = MESSAGE_LIMIT / error.size;
    throw tooLarge(wanted(share), `${bytesIn(error.size)} bytes`, bytesIn(MESSAGE_LIMIT));
  });
}

/** Tells of letters that no font has. */
export async function lookForGlyphs(
  page: Page,
  waits: boolean,
  onMissing: OnMissingFonts,
  signal: AbortSignal,
): Promise<void> {
  const fonts = fontsFor(await evaluate(page, findMissingGlyphs, [waits], signal));
  page.missingFonts.push(...fonts);
  onMissing(fonts);
}

/** The document as HTML after scripts have run, or the parts that selectors leave. */
export function contentAction({ includeTags = [], excludeTags = [] }: Parts = {}): Action<string> {
  return (page, _facts, signal) =>
    evaluateText(page, readDocument, [includeTags, excludeTags], {
      wanted: htmlOf("content"),
      signal,
    });
}

/** Makes the action that reads what a reader sees of the document, or of those parts, as HTML for the converter. */
export function visibleAction({ includeTags = [], excludeTags = [] }: Parts = {}): Action<string> {
  return (page, _facts, signal) =>
    evaluateText(page, readVisible, [includeTags, excludeTags], {
      wanted: htmlOf("markdown"),
      signal,
    });
}

function htmlOf(action: string): WantedText {
  const hint = "take parts of it with includeTags or excludeTags";
  return { action, what: "The HTML of the page", hint };
}

type Parts = Pick<DocumentBody, "includeTags" | "excludeTags">;

/** A picture and its media type. */
export interface Picture {
  readonly base64: string;
  readonly type: string;
}

/** Takes a picture of the window, the whole page, a clip, or one element. */
export function pictureAction(
  options: ScreenshotOptions,
  onMissing: OnMissingFonts,
  { selector, scrollPage }: Pick<ScreenshotBody, "selector" | "scrollPage"> = {},
): Action<Picture> {
  const format = options.type ?? "png";
  if (options.quality !== undefined && format === "png") {
    throw invalidRequest("screenshotOptions.quality: A png has no quality");
  }
  return async (page, { drawable }, signal) => {
    if (scrollPage === true) await scrollThrough(page, signal);
    await waitForFiles(page, signal, options.fullPage === true);
    page.files.noteLate();
    if (!drawable || scrollPage === true) await lookForGlyphs(page, false, onMissing, signal);
    if (options.omitBackground === true) await transparent(page);
    const clip = await clipOf(page, options, selector, signal);
    const answer = await capture(page, "Page.captureScreenshot", picture, {
      format,
      ...(options.quality === undefined ? {} : { quality: options.quality }),
      ...(clip === undefined ? {} : { clip }),
      captureBeyondViewport: options.captureBeyondViewport ?? clip !== undefined,
      fromSurface: options.fromSurface ?? true,
      optimizeForSpeed: options.optimizeForSpeed === true,
    });
    return { base64: String(answer["data"]), type: `image/${format}` };
  };
}

/** Sides of a picture in pixels: what Chromium can capture; of anything larger it would give a part. */
const PICTURE_LIMIT = 16_384;

/** A part of the page in CSS pixels. */
interface Clip extends PageBox {
  readonly scale: number;
}

/** @throws ApiError `page_too_large` when the picture would have too many pixels */
async function clipOf(
  page: Page,
  options: ScreenshotOptions,
  selector: string | undefined,
  signal: AbortSignal,
): Promise<Clip | undefined> {
  const clip = await wantedClip(page, options, selector, signal);
  if (clip === undefined) return undefined;
  const density = clip.scale * page.density;
  const [width, height] = [Math.ceil(clip.width * density), Math.ceil(clip.height * density)];
  const size = `The picture would have ${width} x ${height} pixels`;
  if (Math.max(width, height) > PICTURE_LIMIT)
    throw new ApiError("page_too_large", {
      message: `${size}, and a side may have ${PICTURE_LIMIT}: take parts with screenshotOptions.clip`,
    });
  if (width * height > AREA_LIMIT)
    throw new ApiError("page_too_large", {
      message: `${size}, and a picture may have ${AREA_LIMIT} in all, such as ${width} x ${Math.floor(AREA_LIMIT / width)}: take parts with screenshotOptions.clip`,
    });
  return clip;
}

async function wantedClip(
  page: Page,
  options: ScreenshotOptions,
  selector: string | undefined,
  signal: AbortSignal,
): Promise<Clip | undefined> {
  if (options.clip !== undefined) return { ...options.clip, scale: options.clip.scale ?? 1 };
  if (selector !== undefined) {
    const box = await evaluate(page, locateElement, [selector], signal);
    if (box === null)
      throw new ApiError("render_timeout", {
        message: `selector: Nothing matches "${selector.slice(0, 80)}"`,
      });
    return { ...box, scale: 1 };
  }
  if (options.fullPage !== true) return undefined;
  const metrics = await page.call("Page.getLayoutMetrics");
  const { width, height } = metrics["cssContentSize"] as { width: number; height: number };
  return { x: 0, y: 0, width, height, scale: 1 };
}

/** Links of an answer, and elements. */
const LINKS = 100_000;
const ELEMENTS = 50_000;

/** The addresses of the page's links. */
export function linksAction(body: LinksBody): Action<JsonText> {
  const hint = "leave some out with visibleLinksOnly or excludeExternalLinks, or scrape parts";
  const wanted = { action: "links", what: "The page", hint, most: LINKS, things: "links" };
  const { visibleLinksOnly = false, excludeExternalLinks = false } = body;
  return async (page, _facts, signal) =>
    new JsonText(
      await evaluateText(page, readLinks, [visibleLinksOnly, excludeExternalLinks], {
        wanted,
        signal,
      }),
    );
}

/** Text, markup, attributes and place of the matches of some selectors. */
export function scrapeAction(body: ScrapeBody): Action<JsonText> {
  const selectors = body.elements.map(({ selector }) => selector);
  const wanted = {
    action: "scrape",
    what: "What the selectors find",
    hint: "name fewer elements, or such as do not stand in each other",
    most: ELEMENTS,
    things: "elements",
  };
  return async (page, _facts, signal) =>
    new JsonText(await evaluateText(page, scrapeElements, [selectors], { wanted, signal }));
}

/** The pause at each place, in ms: lazy pictures begin to load. */
const SCROLL_MS = 50;

/** Scrolls to the end and back, so that lazy pictures load; step by step from here, as timers of a page stand still where scripts are off. */
async function scrollThrough(page: Page, signal: AbortSignal): Promise<void> {
  for (let at = 0; ;) {
    const next = await evaluate(page, scrollStep, [at], signal);
    if (next === null) return;
    at = next;
    await page.system.sleep(SCROLL_MS, signal);
  }
}

/** Leaves out the white behind a page. */
export async function transparent(page: Page): Promise<void> {
  await page.call("Emulation.setDefaultBackgroundColorOverride", {
    color: { r: 0, g: 0, b: 0, a: 0 },
  });
}

/** Characters that are decoded before others go on: a few milliseconds of work. A multiple of 4, so that each part is whole. */
const DECODED = 1024 * 1024;

/** Decodes what Chromium sends, which is well-formed base64 of up to many megabytes: a part at a time, so that others go on in between. */
export async function bytesOf(
  base64: string,
  system: System,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const padding = base64.endsWith("==") ? 2 : base64.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((base64.length / 4) * 3 - padding);
  for (let at = 0; at < base64.length; at += DECODED) {
    if (at > 0) await system.sleep(0, signal);
    const part = atob(base64.slice(at, at + DECODED));
    const start = (at / 4) * 3;
    for (let i = 0; i < part.length; i++) bytes[start + i] = part.charCodeAt(i);
  }
  return bytes;
}
