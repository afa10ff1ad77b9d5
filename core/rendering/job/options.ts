import type { Platform } from "../../ports.ts";
import type { ServeMcp } from "../../mcp/mcp-tool.ts";
import type { Tracer } from "../../trace/trace-context.ts";
import type { MarkdownEngine } from "../input/engine.ts";
import type { ContentExtractor } from "../input/extractor.ts";
import type { JsonModels } from "../json/ask-json.ts";
import type { PdfEditor } from "../pdf-edit/pdf-editor.ts";
import type { PdfReader } from "../pdf/pdf-reader.ts";
import type { TimerCaps } from "../input/timers.ts";

/** The limits of crawls. */
export interface CrawlOptions {
  /** Crawls of one account that run at a time; more are 429. @default 10 */
  readonly maxRunning?: number;
  /** Crawls of one account that are stored with their results; a new one replaces the oldest. @default 100 */
  readonly maxKept?: number;
  /** Bytes of the results of one crawl; a crawl with more ends. @default 268435456 */
  readonly maxBytes?: number;
  /** Days for which results are kept. @default 14 */
  readonly keepDays?: number;
  /** Milliseconds between two requests to a host whose robots.txt names no `Crawl-delay`. @default 500 */
  readonly delayMs?: number;
}

/** The operator's options for renderings. */
export interface RenderingOptions {
  readonly platform: Platform;
  /** Renderings at a time. @default 2 */
  readonly maxConcurrency?: number;
  /**
   * Blank pages that are kept ready, so that a rendering does not wait for one; with 0 each page is opened when a request needs
   * it. None is kept on Workers, where a connection to the browser ends with its request, and with a remote browser.
   * @default `maxConcurrency`, at most 4
   */
  readonly pagesAhead?: number;
  /**
   * Pages that are reused for plain `html`, which can neither run a script nor load anything. A page is reused for the same
   * token only, and saves the start of a process. 0 gives each document a page of its own. None is
   * reused on Workers and with a remote browser.
   * @default one more than `maxConcurrency`, at most 5
   */
  readonly pagesKept?: number;
  /** Renderings that may wait; any further one is a 429. @default 20 */
  readonly maxQueue?: number;
  /** Bytes of a request body. @default 52428800 */
  readonly maxBodyBytes?: number;
  /** Longest time of a request, its wait included, in ms; after that it is a 408. @default 180000 */
  readonly requestTimeout?: number;
  /** The largest timers that a caller may set. */
  readonly timeouts?: TimerCaps;
  /** Hosts that pages may reach although they are not public; give the platform's browser the same list. @default [] */
  readonly allowHosts?: readonly string[];
  /**
   * Addresses of the lists of advertisers and trackers for `blockAds`: filter lists, of which the lines for whole hosts count, or
   * files of hosts. They are read when a request first asks for `blockAds`, and then once a day. @default EasyList and EasyPrivacy
   */
  readonly adLists?: readonly string[];
  /** Runs patterns of requests on JavaScript's own engine, without any limit of time. @default false */
  readonly unsafeRegex?: boolean;
  /** Finds the main content for `{"extract": "main"}`: `mainContent` of `causey/rendering/extract`. @default 503 for it */
  readonly extract?: ContentExtractor;
  /** Reads a `url` that is a PDF: `pdfReader` of `causey/rendering/pdf`. @default 422 for one, but `/pdf` passes it on */
  readonly readPdf?: PdfReader;
  /** Edits PDFs for `/pdf/edit` and the field `edit` of `/pdf`: `pdfEditor` of `causey/rendering/pdf-edit`. @default 503 for both */
  readonly editPdf?: PdfEditor;
  /** Serves the tools of rendering to MCP clients at `…/mcp`: `serveMcp` of `causey/rendering/mcp`. @default 503 there */
  readonly mcp?: ServeMcp;
  /** Makes the Markdown of pages: `turndownEngine()` of `causey/rendering/turndown`. @default causey's own converter */
  readonly markdownEngine?: MarkdownEngine;
  /** Finds data in pages for `/json`; its `model` is the name it is asked by. @default 503 for it */
  readonly chatModel?: JsonModels["model"];
  /** Makes the models that callers name in `custom_ai`, each with its caller's key. @default 400 for them */
  readonly customModel?: JsonModels["modelOf"];
  /** Milliseconds of one request to a model. @default 60000 */
  readonly chatTimeoutMs?: number;
  /** The limits of crawls. */
  readonly crawls?: CrawlOptions;
  /**
   * Seals the requests of running crawls in the database: they may hold cookies, headers and keys of models.
   * @default a key of each crawl, kept in the same database: then sealing guards copies of single rows, not of the whole file
   */
  readonly masterSecret?: string;
  /** Former master secrets, which still open the values that they sealed. @default [] */
  readonly formerMasterSecrets?: readonly string[];
  /** Takes a span of each rendering, and sends its `traceparent` to the origin of the page. @default no tracing */
  readonly tracer?: Tracer | undefined;
  /** Whether Markdown begins with YAML frontmatter when the page has a title. @default true */
  readonly frontmatter?: boolean;
}
