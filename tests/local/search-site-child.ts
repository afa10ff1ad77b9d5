// A server whose instance follows a website of six pages: RUNTIME DATA_DIR crawl|take|work. With `crawl` the fourth page never
// comes: it prints `reads PATHS` once that was asked for, and waits to be killed. With `take` the text of the fourth page never
// comes: it prints `took 3` once three are indexed, and waits. With `work` it prints `ended COUNT REASON JOBS`, the pages that it
// asked the site for until its job was over, and how many the job has indexed and found unchanged.
import { utf8 } from "../../core/crypto/encoding.ts";
import type { InboundResponse, Platform, SiteCrawler } from "../../core/ports.ts";
import { renderingParts } from "../../core/rendering/mod.ts";
import { search } from "../../core/search/mod.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", dataDir = "", mode = "work"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const own = await open({ dataDir, chromiumPath: "/nowhere" });

const asked: string[] = [];
const links = ["/a", "/b", "/c", "/d", "/e"].map((path) => `<a href="${path}">x</a>`).join("");
const documents = {
  send({ url }: { readonly url: string }): Promise<InboundResponse> {
    const { pathname } = new URL(url);
    if (pathname === "/robots.txt" || pathname === "/sitemap.xml")
      return Promise.resolve({ status: 404, headers: [], body: null });
    asked.push(pathname);
    if (pathname === "/c" && mode === "crawl") return new Promise(() => undefined);
    const headers: InboundResponse["headers"] = [["content-type", "text/html"]];
    const body = utf8(`<h1>${pathname}</h1><p>About ${pathname}.</p>${links}`);
    return Promise.resolve({ status: 200, headers, body });
  },
};
const platform = { ...own, browser: { ...own.browser, documents } };
const real = renderingParts({ platform, auth: "off", crawls: { delayMs: 0 } }).crawler;
const crawler: SiteCrawler = {
  ...real,
  markdown(account, id, seq, maxBytes) {
    if (seq >= 3 && mode === "take") return new Promise(() => undefined);
    return real.markdown(account, id, seq, maxBytes);
  },
};
const app = search({ platform, auth: "off", crawler });
const root = "http://test/accounts/a/ai-search/instances";

interface Answer {
  readonly completed: number;
  readonly end_reason?: string;
  readonly progress?: { readonly indexed: number; readonly unchanged: number };
}

async function call(method: string, path: string, body?: unknown): Promise<Answer & Answer[]> {
  const headers = { "content-type": "application/json" };
  const init = body === undefined ? {} : { headers, body: JSON.stringify(body) };
  const response = await app.request(`${root}${path}`, { method, ...init });
  const { result } = (await response.json()) as { result: Answer & Answer[] };
  return result;
}

if (mode !== "work") {
  await call("POST", "", {
    id: "main",
    type: "web-crawler",
    source: "https://site.example/",
    source_params: { web_crawler: { parse_type: "discover" } },
  });
}
async function waitToBeKilled(said: string): Promise<void> {
  printNow(said);
  await platform.system.sleep(3_600_000);
}
for (;;) {
  const { completed } = await call("GET", "/main/stats");
  const jobs = await call("GET", "/main/jobs");
  const reason = jobs[0]?.end_reason;
  if (mode === "crawl" && asked.includes("/c")) await waitToBeKilled(`reads ${asked.join(",")}`);
  if (mode === "take" && completed === 3) await waitToBeKilled("took 3");
  if (reason !== undefined) {
    const { indexed, unchanged } = jobs[0]?.progress ?? {};
    const pages = asked.join(",") || "-";
    printNow(`ended ${completed} ${reason} ${jobs.length} ${pages} ${indexed}+${unchanged}`);
    break;
  }
  await platform.system.sleep(5);
}
await platform.close();
