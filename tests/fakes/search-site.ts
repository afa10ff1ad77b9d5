import { openPlatform } from "#platform";
import { utf8 } from "../../core/crypto/encoding.ts";
import type { InboundResponse, OutboundRequest, Sql, Transport } from "../../core/ports.ts";
import { renderingParts } from "../../core/rendering/mod.ts";
import { searchUnderTest, type SearchUnderTest, type Shown } from "./search-api.ts";

/** A page: its HTML, an answer without one, or an answer to what was asked. */
type PlayedAnswer =
  | string
  | Partial<InboundResponse>
  | ((asked: OutboundRequest) => Partial<InboundResponse>);

/** An instance `main` that may follow websites which the test plays. */
export interface SiteUnderTest {
  readonly api: SearchUnderTest;
  /** The answers by their addresses; others are 404. */
  readonly pages: Map<string, PlayedAnswer>;
  /** The requests that the sites got, in order. */
  readonly asked: OutboundRequest[];
  /** The parameters of all statements of the search actors, as JSON. */
  readonly written: string[];
  /** Changes the instance. */
  put(settings: object): ReturnType<SearchUnderTest["call"]>;
  /** Waits for the end of the newest of more than `before` jobs. */
  nextJob(before: number): Promise<Shown>;
  /** Begins another job as if the pause between two were over, and waits for its end. */
  syncAgain(): Promise<Shown>;
  items(): Promise<ReadonlyMap<string, Shown>>;
  close(): Promise<void>;
}

/** Opens search over the rendering part's own crawler, which gets its pages from the test. */
export async function siteUnderTest(
  options: Parameters<typeof searchUnderTest>[0] = {},
): Promise<SiteUnderTest> {
  const own = await openPlatform();
  const pages = new Map<string, PlayedAnswer>();
  const asked: OutboundRequest[] = [];
  const documents = playing(pages, asked);
  const platform = { ...own, browser: { ...own.browser, documents } };
  const { crawler } = renderingParts({ platform, auth: "off", crawls: { delayMs: 0 } });
  const written: string[] = [];
  const skew = { ms: 0, watched: (sql: Sql) => noting(sql, written) };
  const api = await searchUnderTest({ crawler, ...options }, {}, undefined, {}, {}, skew);
  const nextJob = async (before: number): Promise<Shown> => {
    for (;;) {
      const { body } = await api.call("GET", "/instances/main/jobs");
      const [job] = body.result;
      if (body.result.length > before && job?.ended_at !== undefined) return job;
      await api.platform.system.sleep(20);
    }
  };
  return {
    api,
    pages,
    asked,
    written,
    put(settings) {
      skew.ms += 60_000;
      return api.call("PUT", "/instances/main", settings);
    },
    nextJob,
    async syncAgain() {
      const { body } = await api.call("GET", "/instances/main/jobs");
      skew.ms += 60_000;
      await api.call("POST", "/instances/main/jobs");
      return nextJob(body.result.length);
    },
    async items() {
      const { body } = await api.call("GET", "/instances/main/items?per_page=100");
      return new Map(body.result.map((item) => [item.key, item]));
    },
    async close() {
      await api.close();
      await own.close();
    },
  };
}

/** A page of HTML with links. */
export function htmlPage(title: string, text: string, ...links: readonly string[]): string {
  const anchors = links.map((to) => `<a href="${to}">${to}</a>`).join(" ");
  return `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>${text}</p>${anchors}</body></html>`;
}

function playing(
  pages: ReadonlyMap<string, PlayedAnswer>,
  asked: OutboundRequest[],
): Pick<Transport, "send"> {
  return {
    send(request) {
      asked.push(request);
      const page = pages.get(request.url) ?? { status: 404 };
      const found = typeof page === "function" ? page(request) : page;
      const answer = typeof found === "string" ? { body: utf8(found) } : found;
      const headers: InboundResponse["headers"] = [["content-type", "text/html"]];
      return Promise.resolve({ status: 200, headers, body: utf8("<p>none"), ...answer });
    },
  };
}

/** The same database, whose statements' parameters are noted. */
function noting(sql: Sql, written: string[]): Sql {
  const value: Sql["batch"] = (statements, options) => {
    written.push(JSON.stringify(statements.map(({ params }) => params)));
    return sql.batch(statements, options);
  };
  return Object.create(sql, { batch: { value } }) as Sql;
}
