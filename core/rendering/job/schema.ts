import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import {
  between,
  LAST_INSTANT,
  LONGEST_TIMER_MS,
  whole,
} from "../../http/fields/bounded-number.ts";
import type {
  AccessibilityBody,
  DocumentBody,
  LinksBody,
  PdfBody,
  RenderBody,
  ScrapeBody,
  ScreenshotBody,
  SnapshotBody,
} from "../input/body.ts";
import { keyNames } from "../cdp/keys.ts";
import { printEditSchema } from "../pdf-edit/edit-schema.ts";
import { type JsonBody, jsonFields } from "../json/json-body.ts";

/** The 18 kinds of requests that `allowResourceTypes` and `rejectResourceTypes` name. */
const resourceTypes = [
  "document",
  "stylesheet",
  "image",
  "media",
  "font",
  "script",
  "texttrack",
  "xhr",
  "fetch",
  "prefetch",
  "eventsource",
  "websocket",
  "manifest",
  "signedexchange",
  "ping",
  "cspviolationreport",
  "preflight",
  "other",
] as const;

const lifecycle = v.picklist(["load", "domcontentloaded", "networkidle0", "networkidle2"]);
const short = v.pipe(v.string(), v.maxLength(4096));
const filled = v.pipe(short, v.nonEmpty());
export const address: v.GenericSchema<unknown, string> = v.pipe(
  v.string(),
  v.nonEmpty(),
  v.maxLength(8192),
);
/** Pixels from the corner of a page, however long it is. */
const MOST_PIXELS = 10_000_000;
const amount = v.pipe(
  v.number(),
  v.minValue(0, "A negative number is not allowed"),
  v.maxValue(LONGEST_TIMER_MS),
);
const pixels = v.pipe(
  v.number(),
  v.integer("Whole pixels are needed"),
  v.minValue(1),
  v.maxValue(10_000),
);
const patterns = v.array(v.string());
const types = v.pipe(v.array(v.picklist(resourceTypes)), v.maxLength(18));
const tags = v.pipe(
  v.array(
    v.pipe(
      v.object({
        id: v.optional(short),
        type: v.optional(short),
        content: v.optional(v.string()),
        url: v.optional(address),
      }),
      v.check(
        ({ content, url }) => (content === undefined) !== (url === undefined),
        "expected either content or url",
      ),
    ),
  ),
  v.maxLength(50),
);

const gotoOptions = v.object({
  timeout: v.optional(amount),
  waitUntil: v.optional(v.union([lifecycle, v.pipe(v.array(lifecycle), v.maxLength(4))])),
  referer: v.optional(address),
  referrerPolicy: v.optional(short),
});

const cookie = v.object({
  name: filled,
  value: v.string(),
  domain: v.optional(short),
  path: v.optional(short),
  url: v.optional(address),
  expires: v.optional(between(-1, LAST_INSTANT / 1000)),
  httpOnly: v.optional(v.boolean()),
  secure: v.optional(v.boolean()),
  sameSite: v.optional(v.picklist(["Strict", "Lax", "None"])),
  priority: v.optional(v.picklist(["Low", "Medium", "High"])),
  partitionKey: v.optional(short),
  sameParty: v.optional(v.boolean()),
  sourcePort: v.optional(whole(-1, 65_535)),
  sourceScheme: v.optional(v.picklist(["Unset", "NonSecure", "Secure"])),
});

const length = v.union([amount, v.pipe(v.string(), v.maxLength(40))]);

const pdfOptions = v.object({
  displayHeaderFooter: v.optional(v.boolean()),
  headerTemplate: v.optional(v.string()),
  footerTemplate: v.optional(v.string()),
  format: v.optional(short),
  width: v.optional(length),
  height: v.optional(length),
  landscape: v.optional(v.boolean()),
  margin: v.optional(
    v.object({
      top: v.optional(length),
      right: v.optional(length),
      bottom: v.optional(length),
      left: v.optional(length),
    }),
  ),
  omitBackground: v.optional(v.boolean()),
  outline: v.optional(v.boolean()),
  pageRanges: v.optional(short),
  preferCSSPageSize: v.optional(v.boolean()),
  printBackground: v.optional(v.boolean()),
  scale: v.optional(between(0, 100)),
  singlePage: v.optional(v.boolean()),
  tagged: v.optional(v.boolean()),
  timeout: v.optional(amount),
});

const screenshotOptions = v.object({
  type: v.optional(v.picklist(["png", "jpeg", "webp"])),
  quality: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(100))),
  fullPage: v.optional(v.boolean()),
  clip: v.optional(
    v.object({
      x: between(-MOST_PIXELS, MOST_PIXELS),
      y: between(-MOST_PIXELS, MOST_PIXELS),
      width: v.pipe(v.number(), v.minValue(1), v.maxValue(20_000)),
      height: v.pipe(v.number(), v.minValue(1), v.maxValue(20_000)),
      scale: v.optional(v.pipe(v.number(), v.minValue(0.1), v.maxValue(4))),
    }),
  ),
  omitBackground: v.optional(v.boolean()),
  captureBeyondViewport: v.optional(v.boolean()),
  fromSurface: v.optional(v.boolean()),
  optimizeForSpeed: v.optional(v.boolean()),
  encoding: v.optional(v.picklist(["binary", "base64"])),
});

const selectors = v.pipe(v.array(filled), v.maxLength(50));

const pageAction = v.variant("type", [
  v.pipe(
    v.object({
      type: v.literal("wait"),
      milliseconds: v.optional(amount),
      selector: v.optional(filled),
      timeout: v.optional(amount),
    }),
    v.check(
      ({ milliseconds, selector }) => (milliseconds === undefined) !== (selector === undefined),
      "A wait needs either milliseconds or selector",
    ),
  ),
  v.object({ type: v.literal("click"), selector: filled, timeout: v.optional(amount) }),
  v.object({
    type: v.literal("write"),
    text: v.pipe(v.string(), v.maxLength(10_000)),
    selector: v.optional(filled),
    timeout: v.optional(amount),
  }),
  v.object({ type: v.literal("press"), key: v.picklist(keyNames) }),
  v.object({
    type: v.literal("scroll"),
    direction: v.optional(v.picklist(["up", "down"])),
    selector: v.optional(filled),
    timeout: v.optional(amount),
  }),
]);

/** The fields that every endpoint accepts : an unknown one is told. */
export const common: {
  readonly [Name in keyof RenderBody]-?: v.GenericSchema<unknown, RenderBody[Name]>;
} = {
  url: v.optional(address),
  html: v.optional(v.pipe(v.string(), v.nonEmpty())),
  render: v.optional(v.union([v.boolean(), v.literal("auto")])),
  userAgent: v.optional(short),
  emulateMediaType: v.optional(short),
  setJavaScriptEnabled: v.optional(v.boolean()),
  bestAttempt: v.optional(v.boolean()),
  failOnHttpStatus: v.optional(
    v.union([v.boolean(), v.pipe(v.array(whole(100, 599)), v.maxLength(100))]),
  ),
  failOnConsoleError: v.optional(v.boolean()),
  failOnResource: v.optional(v.boolean()),
  blockAds: v.optional(v.boolean()),
  hideCookieBanners: v.optional(v.boolean()),
  removeOverlays: v.optional(v.boolean()),
  setExtraHTTPHeaders: v.optional(v.pipe(notArray, v.record(v.string(), v.string()))),
  authenticate: v.optional(v.object({ username: filled, password: filled })),
  cookies: v.optional(v.pipe(v.array(cookie), v.maxLength(500))),
  viewport: v.optional(
    v.object({
      width: pixels,
      height: pixels,
      deviceScaleFactor: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(4))),
      hasTouch: v.optional(v.boolean()),
      isLandscape: v.optional(v.boolean()),
      isMobile: v.optional(v.boolean()),
    }),
  ),
  gotoOptions: v.optional(gotoOptions),
  goToOptions: v.optional(gotoOptions),
  waitForSelector: v.optional(
    v.object({
      selector: filled,
      timeout: v.optional(amount),
      hidden: v.optional(v.boolean()),
      visible: v.optional(v.boolean()),
    }),
  ),
  waitForFunction: v.optional(
    v.object({
      expression: v.pipe(v.string(), v.nonEmpty(), v.maxLength(10_000)),
      timeout: v.optional(amount),
    }),
  ),
  waitForTimeout: v.optional(amount),
  actions: v.optional(v.pipe(v.array(pageAction), v.maxLength(20))),
  actionTimeout: v.optional(amount),
  addScriptTag: v.optional(tags),
  addStyleTag: v.optional(tags),
  allowRequestPattern: v.optional(patterns),
  rejectRequestPattern: v.optional(patterns),
  allowResourceTypes: v.optional(types),
  rejectResourceTypes: v.optional(types),
};

/** Whether the main content alone is wanted. */
export const extractField: v.GenericSchema<unknown, "main" | undefined> = v.optional(
  v.picklist(["main"]),
);

const documentFields = {
  ...common,
  extract: extractField,
  includeTags: v.optional(selectors),
  excludeTags: v.optional(selectors),
};

/** The body of `/markdown` and `/content`. */
export const documentSchema: v.GenericSchema<unknown, DocumentBody> = v.object(documentFields);

export const jsonSchema: v.GenericSchema<unknown, JsonBody> = v.object({
  ...documentFields,
  ...jsonFields,
});

export const pdfSchema: v.GenericSchema<unknown, PdfBody> = v.object({
  ...common,
  pdfOptions: v.optional(pdfOptions),
  edit: v.optional(printEditSchema),
});

export const screenshotSchema: v.GenericSchema<unknown, ScreenshotBody> = v.object({
  ...common,
  screenshotOptions: v.optional(screenshotOptions),
  selector: v.optional(filled),
  scrollPage: v.optional(v.boolean()),
});

export const linksSchema: v.GenericSchema<unknown, LinksBody> = v.object({
  ...common,
  visibleLinksOnly: v.optional(v.boolean()),
  excludeExternalLinks: v.optional(v.boolean()),
});

export const scrapeSchema: v.GenericSchema<unknown, ScrapeBody> = v.object({
  ...common,
  elements: v.pipe(v.array(v.object({ selector: filled })), v.minLength(1), v.maxLength(100)),
});

/** The body of `/accessibilityTree`. */
export const accessibilitySchema: v.GenericSchema<unknown, AccessibilityBody> = v.object({
  ...common,
  interestingOnly: v.optional(v.boolean()),
  root: v.optional(filled),
});

export const snapshotSchema: v.GenericSchema<unknown, SnapshotBody> = v.object({
  ...common,
  formats: v.optional(
    v.pipe(
      v.array(v.picklist(["content", "screenshot", "markdown", "accessibilityTree"])),
      v.check((formats) => new Set(formats).size >= 2, "At least two formats are needed"),
    ),
  ),
  screenshotOptions: v.optional(screenshotOptions),
});
