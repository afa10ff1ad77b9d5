// A server that crawls a site of its own: RUNTIME DATA_DIR begin|go-on SECRET [ID]. With `begin` it starts a crawl of five
// pages, which gives `SECRET` to a model for each, prints its id once two have been read, and waits to be killed while the
// third is under way. With `go-on` it prints the pages that the crawl `ID` has at its end, those that were asked for
// meanwhile, and how often the model was given `SECRET`.
import { utf8 } from "../../core/crypto/encoding.ts";
import type { ChatModel, InboundResponse, Platform } from "../../core/ports.ts";
import { rendering } from "../../core/rendering/mod.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";
import { printNow } from "./print-now.ts";

const [runtime = "node", dataDir = "", mode = "begin", secret = "", known = ""] =
  process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const own = await open({ dataDir, chromiumPath: "/nowhere" });

const asked: string[] = [];
const pages = ["/a", "/b", "/c", "/d"].map((path) => `<a href="${path}">x</a>`).join("");
const documents = {
  send({ url }: { readonly url: string }): Promise<InboundResponse> {
    const { pathname } = new URL(url);
    asked.push(pathname);
    if (pathname === "/robots.txt")
      return Promise.resolve({ status: 404, headers: [], body: null });
    // The page that the first process dies with.
    if (pathname === "/b" && mode === "begin") return new Promise(() => undefined);
    const headers: InboundResponse["headers"] = [["content-type", "text/html"]];
    return Promise.resolve({ status: 200, headers, body: utf8(`<p>${pathname}</p>${pages}`) });
  },
};
const platform = { ...own, browser: { ...own.browser, documents } };
let given = 0;
const model: ChatModel = () =>
  Promise.resolve(Response.json({ choices: [{ message: { content: "{}" } }] }));
const app = rendering({
  platform,
  auth: "off",
  crawls: { delayMs: 0 },
  customModel({ authorization }) {
    if (authorization === secret) given += 1;
    return model;
  },
});
const root = "http://test/accounts/a/browser-rendering/crawl";

interface Read {
  readonly status: string;
  readonly finished: number;
  readonly records: readonly {
    readonly url: string;
    readonly status: string;
    readonly html: string;
  }[];
}
const read = async (id: string): Promise<Read> => {
  const { result }: { result: Read } = await (await app.request(`${root}/${id}`)).json();
  return result;
};

if (mode === "begin") {
  const custom_ai = [{ model: "own/model", authorization: secret }];
  const body = JSON.stringify({
    url: "https://example.com/",
    render: false,
    source: "links",
    formats: ["html", "json"],
    jsonOptions: { prompt: "What is it?", custom_ai },
  });
  const headers = { "content-type": "application/json" };
  const { result }: { result: string } = await (
    await app.request(root, { method: "POST", headers, body })
  ).json();
  while ((await read(result)).finished < 2 || !asked.includes("/b")) await platform.system.sleep(5);
  printNow(`begun ${result}`);
  await platform.system.sleep(3_600_000);
}
for (;;) {
  const { status, records } = await read(known);
  if (status !== "running") {
    const whole = records.map((one) => `${one.status}:${/<p>(?<path>[^<]*)/u.exec(one.html)?.[1]}`);
    printNow(`ended ${status} ${whole.join(",")} ${asked.join(",")} ${given}`);
    break;
  }
  await platform.system.sleep(5);
}
await platform.close();
