import type { Platform, Transport } from "../../ports.ts";
import type { Tracer } from "../../trace/trace-context.ts";
import type { ContentExtractor } from "../input/extractor.ts";
import type { JobPolicy } from "../job/job.ts";
import { type FairSlots, fairSlots } from "../../work/fair-slots.ts";
import { workFor } from "../../work/owned-work.ts";
import { tooManyRenderings } from "../input/errors.ts";
import type { JsonDeps, JsonWork } from "../json/ask-json.ts";
import type { PdfReader } from "../pdf/pdf-reader.ts";
import type { RenderingOptions } from "../job/options.ts";
import type { RenderDeps } from "../page/render.ts";
import type { CrawlSecrets } from "./rows/sealed-input.ts";

export interface CrawlDeps {
  readonly platform: Platform;
  readonly documents: Transport;
  readonly policy: JobPolicy;
  /** The entries of `policy.allow`, for threads. */
  readonly allowHosts: readonly string[];
  readonly render: RenderDeps;
  readonly json: JsonDeps;
  readonly frontmatter: boolean;
  /** Finds main content; null where the operator brings nothing that does. */
  readonly extract: ContentExtractor | null;
  /** Reads PDFs; null where the operator brings nothing that does. */
  readonly readPdf: PdfReader | null;
  /** Documents that are loaded and converted without a browser at a time, by all crawls. */
  readonly loads: FairSlots;
  /** Pages in a browser at a time, by all crawls: others are to find it free. */
  readonly pages: FairSlots;
  /** Sites that are mapped at a time. */
  readonly maps: FairSlots;
  readonly limits: CrawlLimits;
  readonly secrets: CrawlSecrets;
  /** Whether the end of a crawl is sent to the account's webhooks. */
  readonly sendsWebhooks: boolean;
  /** Takes a span of each page. @default no tracing */
  readonly tracer: Tracer | undefined;
}

/** The same for the work of one owner: a token that asked for a crawl, or an account. */
export interface CrawlWork extends CrawlDeps {
  readonly owner: string;
  readonly json: JsonWork;
}

/** Returns the dependencies for one owner's crawls: slots and threads are shared fairly between owners. */
export function crawlWork(deps: CrawlDeps, owner: string): CrawlWork {
  const work = workFor(owner, deps.platform.background);
  const { background } = work;
  return {
    ...deps,
    owner,
    json: { ...deps.json, ...work },
    platform: { ...deps.platform, background },
  };
}

export interface CrawlLimits {
  readonly running: number;
  readonly kept: number;
  readonly maxBytes: number;
  readonly keepMs: number;
  readonly delayMs: number;
}

/** Documents at a time. */
const LOADS = 8;
const MAPS = 4;
/** Pages of crawls that may wait for their turn: each crawl has few at a time. */
const WAITING = 10_000;
const DAY_MS = 86_400_000;

/** Returns the part of {@link CrawlDeps} that follows from the options alone. */
export function crawlLimits({ crawls = {} }: RenderingOptions): CrawlLimits {
  return {
    running: crawls.maxRunning ?? 10,
    kept: crawls.maxKept ?? 100,
    maxBytes: crawls.maxBytes ?? 256 * 1024 * 1024,
    keepMs: (crawls.keepDays ?? 14) * DAY_MS,
    delayMs: crawls.delayMs ?? 500,
  };
}

/** Returns how many pages all crawls read at a time: in a browser, half of those that it renders. */
export function crawlSlots({
  maxConcurrency = 2,
  maxQueue = 20,
}: RenderingOptions): Pick<CrawlDeps, "loads" | "pages" | "maps"> {
  const running = Math.max(1, Math.floor(maxConcurrency / 2));
  return {
    loads: fairSlots({ running: LOADS, waiting: WAITING, refuse: tooManyRenderings }),
    maps: fairSlots({ running: MAPS, waiting: maxQueue, refuse: tooManyRenderings }),
    pages: fairSlots({ running, waiting: WAITING, refuse: tooManyRenderings }),
  };
}
