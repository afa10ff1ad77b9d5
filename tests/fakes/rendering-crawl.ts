import { openPlatform } from "#platform";
import type { Hono } from "hono";
import { utf8 } from "../../core/crypto/encoding.ts";
import type { InboundResponse, OutboundRequest, Platform } from "../../core/ports.ts";
import { rendering, type RenderingSettings } from "../../core/rendering/mod.ts";

/** A page of a played site: its HTML, or the whole answer. */
export type PlayedPage = string | Partial<InboundResponse>;

/** A site by addresses. What is not in it is a 404. */
export type PlayedSite = Readonly<Record<string, PlayedPage | (() => Promise<PlayedPage>)>>;

/** One page of a crawl, as a client sees it. */
export interface SeenRecord {
  readonly url: string;
  readonly status: string;
  readonly html?: string;
  readonly markdown?: string;
  readonly json?: unknown;
  readonly error?: string;
  readonly attempts?: number;
  readonly metadata?: { readonly status: number; readonly url: string; readonly title?: string };
}

/** A crawl, as a client sees it. */
export interface SeenCrawl {
  readonly status: string;
  readonly total: number;
  readonly finished: number;
  readonly skipped: number;
  readonly records: readonly SeenRecord[];
  readonly cursor?: number;
  readonly jobs: readonly { readonly id: string; readonly status: string }[];
}

/** An answer of the API. */
export interface CrawlAnswer {
  readonly status: number;
  readonly result: SeenCrawl & string;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
}

/** Crawls over the platform of the running runtime, of a site that the test plays. */
export interface CrawlUnderTest {
  readonly platform: Platform;
  readonly app: Hono;
  /** Addresses that were asked for, in order. */
  readonly asked: OutboundRequest[];
  call(method: string, path: string, body?: unknown): Promise<CrawlAnswer>;
  /** Begins a crawl without a browser; its id. */
  begin(body: object): Promise<string>;
  /** Begins a crawl and waits for its end. */
  crawl(body: object): Promise<SeenCrawl>;
  /** Waits for the end of a crawl. */
  end(id: string): Promise<SeenCrawl>;
}

/** Plays a site, and crawls it. */
export async function crawlUnderTest(
  site: PlayedSite,
  options: Partial<RenderingSettings> = {},
  opened?: Platform,
): Promise<CrawlUnderTest> {
  const own = opened ?? (await openPlatform());
  const asked: OutboundRequest[] = [];
  const documents = {
    async send(request: OutboundRequest): Promise<InboundResponse> {
      asked.push(request);
      const page = site[request.url];
      const answer = typeof page === "function" ? await page() : page;
      const headers: InboundResponse["headers"] = [["content-type", "text/html"]];
      if (answer === undefined) return { status: 404, headers, body: utf8("<p>none") };
      if (typeof answer === "string") return { status: 200, headers, body: utf8(answer) };
      return { status: 200, headers, body: null, ...answer };
    },
  };
  const platform = { ...own, browser: { ...own.browser, documents } };
  const crawls = { delayMs: 0, ...options.crawls };
  const app = rendering({ platform, auth: "off", ...options, crawls });
  const root = "http://test/accounts/a/browser-rendering/crawl";
  const call = async (method: string, path: string, body?: unknown): Promise<CrawlAnswer> => {
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    const headers = { "content-type": "application/json" };
    const answer = await app.request(`${root}${path}`, { method, headers, ...init });
    return { status: answer.status, ...((await answer.json()) as Omit<CrawlAnswer, "status">) };
  };
  const begin = async (body: object): Promise<string> => {
    const { result, errors } = await call("POST", "", { render: false, limit: 100, ...body });
    if (result === null) throw new Error(JSON.stringify(errors));
    return result;
  };
  const end = async (id: string): Promise<SeenCrawl> => {
    for (;;) {
      const { result } = await call("GET", `/${id}`);
      if (result.status !== "running") return result;
      await platform.system.sleep(10);
    }
  };
  return {
    platform,
    app,
    asked,
    call,
    begin,
    end,
    crawl: async (body) => end(await begin(body)),
  };
}
