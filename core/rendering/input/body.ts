import type { keyNames } from "../cdp/keys.ts";
import type { PdfEdit } from "../pdf-edit/edit-schema.ts";

/** A lifecycle event that a load waits for. */
export type WaitUntil = "load" | "domcontentloaded" | "networkidle0" | "networkidle2";

/** How a page is loaded. */
export interface GotoOptions {
  /** ms; 0 means the cap. */
  readonly timeout?: number | undefined;
  readonly waitUntil?: WaitUntil | WaitUntil[] | undefined;
  readonly referer?: string | undefined;
  readonly referrerPolicy?: string | undefined;
}

/** One entry of `addScriptTag` or `addStyleTag`. */
export interface Tag {
  readonly id?: string | undefined;
  readonly type?: string | undefined;
  readonly content?: string | undefined;
  readonly url?: string | undefined;
}

/** One entry of `cookies`. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly domain?: string | undefined;
  readonly path?: string | undefined;
  readonly url?: string | undefined;
  readonly expires?: number | undefined;
  readonly httpOnly?: boolean | undefined;
  readonly secure?: boolean | undefined;
  readonly sameSite?: "Strict" | "Lax" | "None" | undefined;
  readonly priority?: "Low" | "Medium" | "High" | undefined;
  readonly partitionKey?: string | undefined;
  readonly sameParty?: boolean | undefined;
  readonly sourcePort?: number | undefined;
  readonly sourceScheme?: "Unset" | "NonSecure" | "Secure" | undefined;
}

/** The size of the page's window in CSS pixels. */
export interface Viewport {
  readonly width: number;
  readonly height: number;
  readonly deviceScaleFactor?: number | undefined;
  readonly hasTouch?: boolean | undefined;
  readonly isLandscape?: boolean | undefined;
  readonly isMobile?: boolean | undefined;
}

/** A wait for an element. */
export interface SelectorWait {
  readonly selector: string;
  readonly timeout?: number | undefined;
  readonly hidden?: boolean | undefined;
  readonly visible?: boolean | undefined;
}

/** A wait for an expression of the page. */
export interface FunctionWait {
  /** JavaScript in the page; the wait ends when it is true, or a promise of something true. */
  readonly expression: string;
  /** ms; 0 means the cap. */
  readonly timeout?: number | undefined;
}

/** One thing that is done with a page before its capture; names are Firecrawl's. `timeout` is how long a selector is waited for. */
export type PageAction =
  | {
      readonly type: "wait";
      readonly milliseconds?: number | undefined;
      readonly selector?: string | undefined;
      readonly timeout?: number | undefined;
    }
  | { readonly type: "click"; readonly selector: string; readonly timeout?: number | undefined }
  | {
      readonly type: "write";
      readonly text: string;
      readonly selector?: string | undefined;
      readonly timeout?: number | undefined;
    }
  | { readonly type: "press"; readonly key: (typeof keyNames)[number] }
  | {
      readonly type: "scroll";
      readonly direction?: "up" | "down" | undefined;
      readonly selector?: string | undefined;
      readonly timeout?: number | undefined;
    };

/** The fields that every rendering endpoint accepts. */
export interface RenderBody {
  readonly url?: string | undefined;
  readonly html?: string | undefined;
  /** False: the document as the site sends it, without a browser. "auto": that, unless only its scripts fill it. @default true */
  readonly render?: boolean | "auto" | undefined;
  readonly userAgent?: string | undefined;
  readonly emulateMediaType?: string | undefined;
  readonly setJavaScriptEnabled?: boolean | undefined;
  readonly bestAttempt?: boolean | undefined;
  /** True: a status of 400 or more ends the rendering; a list: one of these statuses. @default false */
  readonly failOnHttpStatus?: boolean | readonly number[] | undefined;
  /** Whether an error of the page's scripts, or one that they write to the console, ends the rendering. @default false */
  readonly failOnConsoleError?: boolean | undefined;
  /** Whether a missing file of the page ends the rendering. @default false */
  readonly failOnResource?: boolean | undefined;
  /** Whether the page does without the files of advertisers and trackers (`rendering.adLists`). @default false */
  readonly blockAds?: boolean | undefined;
  /** Whether banners that ask for consent are hidden. @default false */
  readonly hideCookieBanners?: boolean | undefined;
  /** Whether dialogs and whatever else covers the page are hidden. @default false */
  readonly removeOverlays?: boolean | undefined;
  readonly setExtraHTTPHeaders?: Record<string, string> | undefined;
  readonly authenticate?: { readonly username: string; readonly password: string } | undefined;
  readonly cookies?: readonly Cookie[] | undefined;
  readonly viewport?: Viewport | undefined;
  readonly gotoOptions?: GotoOptions | undefined;
  /** The spelling of some of the platform's documents; `gotoOptions` wins. */
  readonly goToOptions?: GotoOptions | undefined;
  readonly waitForSelector?: SelectorWait | undefined;
  readonly waitForFunction?: FunctionWait | undefined;
  readonly waitForTimeout?: number | undefined;
  /** Actions on the page after the waits, in this order. */
  readonly actions?: readonly PageAction[] | undefined;
  readonly actionTimeout?: number | undefined;
  readonly addScriptTag?: readonly Tag[] | undefined;
  readonly addStyleTag?: readonly Tag[] | undefined;
  readonly allowRequestPattern?: readonly string[] | undefined;
  readonly rejectRequestPattern?: readonly string[] | undefined;
  readonly allowResourceTypes?: readonly string[] | undefined;
  readonly rejectResourceTypes?: readonly string[] | undefined;
}

/** A length: CSS pixels, or a number with a unit such as `"2cm"`. */
export type Length = number | string;

/** How a page is printed; names, defaults and conversions are Puppeteer's. */
export interface PdfOptions {
  readonly displayHeaderFooter?: boolean | undefined;
  readonly headerTemplate?: string | undefined;
  readonly footerTemplate?: string | undefined;
  readonly format?: string | undefined;
  readonly width?: Length | undefined;
  readonly height?: Length | undefined;
  readonly landscape?: boolean | undefined;
  readonly margin?:
    | {
        readonly top?: Length | undefined;
        readonly right?: Length | undefined;
        readonly bottom?: Length | undefined;
        readonly left?: Length | undefined;
      }
    | undefined;
  readonly omitBackground?: boolean | undefined;
  readonly outline?: boolean | undefined;
  readonly pageRanges?: string | undefined;
  readonly preferCSSPageSize?: boolean | undefined;
  readonly printBackground?: boolean | undefined;
  readonly scale?: number | undefined;
  /** Whether all is on one page, which is as long as it has to be. @default false */
  readonly singlePage?: boolean | undefined;
  readonly tagged?: boolean | undefined;
  /** ms; 0 means the cap. */
  readonly timeout?: number | undefined;
}

/** The body of `/markdown` and `/content`. */
export interface DocumentBody extends RenderBody {
  /** The main content only. */
  readonly extract?: "main" | undefined;
  /** Selectors of the parts that are kept; names are Firecrawl's. @default everything */
  readonly includeTags?: readonly string[] | undefined;
  /** Selectors of the parts that are left out. */
  readonly excludeTags?: readonly string[] | undefined;
}

export interface PdfBody extends RenderBody {
  readonly pdfOptions?: PdfOptions | undefined;
  /** Changes the printed PDF before it is answered. @default no changes */
  readonly edit?: PdfEdit | undefined;
}

/** How a picture of a page is taken. */
export interface ScreenshotOptions {
  readonly type?: "png" | "jpeg" | "webp" | undefined;
  readonly quality?: number | undefined;
  readonly fullPage?: boolean | undefined;
  readonly clip?:
    | {
        readonly x: number;
        readonly y: number;
        readonly width: number;
        readonly height: number;
        readonly scale?: number | undefined;
      }
    | undefined;
  readonly omitBackground?: boolean | undefined;
  readonly captureBeyondViewport?: boolean | undefined;
  readonly fromSurface?: boolean | undefined;
  readonly optimizeForSpeed?: boolean | undefined;
  readonly encoding?: "binary" | "base64" | undefined;
}

export interface ScreenshotBody extends RenderBody {
  readonly screenshotOptions?: ScreenshotOptions | undefined;
  readonly selector?: string | undefined;
  readonly scrollPage?: boolean | undefined;
}

export interface LinksBody extends RenderBody {
  readonly visibleLinksOnly?: boolean | undefined;
  readonly excludeExternalLinks?: boolean | undefined;
}

export interface ScrapeBody extends RenderBody {
  readonly elements: readonly { readonly selector: string }[];
}

/** The body of `/accessibilityTree`. */
export interface AccessibilityBody extends RenderBody {
  /** @default true, but false when there is a `root` */
  readonly interestingOnly?: boolean | undefined;
  /** A selector of the element that the tree begins with. */
  readonly root?: string | undefined;
}

/** One part of a `/snapshot`. */
export type SnapshotFormat = "content" | "screenshot" | "markdown" | "accessibilityTree";

export interface SnapshotBody extends RenderBody {
  readonly formats?: readonly SnapshotFormat[] | undefined;
  readonly screenshotOptions?: ScreenshotOptions | undefined;
}
