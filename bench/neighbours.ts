// How long `/healthz` waits while one client sends the largest input that an operation takes, again and again:
// `npm run bench -- neighbours [--only TEXT] [--seconds 5]`, on Node, Deno and Bun. "nothing" is the same without that client. TEXT is
// part of an operation's or a runtime's name. Beside the waits: how often the input was answered, and with which status.
import { createHmac } from "node:crypto";
import { Worker } from "node:worker_threads";
import { causeyCommand, makeGateway, TOKEN } from "./harness/causey.ts";
import { type Figure, once, percentile } from "./harness/figure.ts";
import { htmlPage } from "./harness/html-page.ts";
import type { Options } from "./harness/options.ts";
import { renderingInputs } from "./harness/rendering-inputs.ts";
import { runtimes, start } from "./harness/servers.ts";

/** The longest wait that is allowed, in ms; beside a browser, which takes both cores of a small machine, the 99th percentile. */
const LONGEST = 20;
const BESIDE_BROWSER = [
  { what: "p99 ms", atMost: LONGEST },
  { what: "longest ms", atMost: 100 },
];
const MB = 1_000_000;
const secret = "bench-secret-0123456789abcdef";
const account = "/client/v4/accounts/local";

interface Input {
  readonly name: string;
  readonly path: string;
  /** Made once, when it is needed. */
  readonly body: () => string | FormData;
  readonly headers?: (body: string) => Readonly<Record<string, string>>;
  /** @default a longest wait of 20 ms */
  readonly goals?: typeof BESIDE_BROWSER;
}

const json = { "content-type": "application/json" };
const page = (bytes: number): string => htmlPage("article", bytes, 7);
/** A page of 40 MB with fewer elements than are refused; 3000 of them are of the class `wanted`. */
const fewElements = (): string => {
  const text = "the of runtime a to gateway and request in stream ".repeat(88);
  return `<p class="wanted">${text}</p>`.repeat(3000) + `<p>${text}</p>`.repeat(6000);
};
interface Fields {
  readonly html?: () => string;
  readonly [field: string]: unknown;
}
const rendered = (
  action: string,
  { html = (): string => page(40 * MB), ...more }: Fields = {},
): Input => ({
  name: `rendering/${action}${Object.keys(more)
    .map((key) => `, ${key}`)
    .join("")}`,
  path: `${account}/browser-rendering/${action}`,
  body: () => JSON.stringify({ html: html(), render: false, ...more }),
});
const inBrowser = renderingInputs.map(({ action, what, body }): Input => ({
  name: `browser/${action}, ${what}`,
  path: `${account}/browser-rendering/${action}`,
  body: () => JSON.stringify(body()),
  goals: BESIDE_BROWSER,
}));
const chat = (model: string): string =>
  JSON.stringify({ model, messages: [{ role: "user", content: page(20 * MB) }] });

const inputs: readonly Input[] = [
  rendered("markdown"),
  rendered("content"),
  rendered("links"),
  rendered("scrape", { html: fewElements, elements: [{ selector: ".wanted" }] }),
  rendered("markdown", { html: fewElements, extract: "main" }),
  ...inBrowser,
  {
    name: "rendering/markdown, upload",
    path: `${account}/browser-rendering/markdown`,
    body() {
      const form = new FormData();
      form.append("files", new File([page(7 * MB)], "index.html"));
      for (let n = 0; n < 4; n++)
        form.append("files", new File(["x".repeat(7 * MB)], `asset-${n}.css`));
      form.set("options", JSON.stringify({ render: false }));
      return form;
    },
  },
  {
    name: "search/upload",
    path: `${account}/ai-search/instances/docs/items`,
    body() {
      const form = new FormData();
      const text = page(3.9 * MB).replaceAll(/<[^>]*>/gu, " ");
      form.set("file", new File([text], "large.md", { type: "text/markdown" }));
      return form;
    },
  },
  {
    name: "search/search",
    path: `${account}/ai-search/instances/docs/search`,
    body: () => JSON.stringify({ messages: [{ role: "user", content: page(15 * MB) }] }),
  },
  {
    name: "gateway/openai",
    path: "/v1/local/bench/openai/chat/completions",
    body: () => chat("bench"),
  },
  {
    name: "gateway/compat, translated",
    path: "/v1/local/bench/compat/chat/completions",
    body: () => chat("anthropic/bench"),
  },
  {
    name: "gateway/universal",
    path: "/v1/local/bench",
    body: () =>
      JSON.stringify([
        {
          provider: "openai",
          endpoint: "chat/completions",
          headers: json,
          query: { model: "bench", messages: [{ role: "user", content: page(9 * MB) }] },
        },
      ]),
  },
  {
    name: "webhooks/inbound",
    path: "/webhooks/github",
    body: () => JSON.stringify({ repository: { full_name: "a/b" }, padding: "x".repeat(MB) }),
    headers: (body) => ({
      "x-github-event": "star",
      "x-github-delivery": crypto.randomUUID(),
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
    }),
  },
  {
    name: "tokens/create",
    path: `${account}/tokens`,
    body: () => JSON.stringify({ name: "x".repeat(MB) }),
  },
];

const names: readonly (keyof typeof runtimes)[] = ["Node", "Deno", "Bun"];

/** Runs `neighbours`. */
export async function* bench({ only = "", ms }: Options): AsyncGenerator<Figure[]> {
  const upstream = await start([...runtimes.Node, "bench/servers/upstream.ts"]);
  const baseUrl = `${upstream.url.origin}/v1`;
  const config = {
    gateway: { providers: { openai: { baseUrl }, anthropic: { baseUrl } } },
    webhooks: { sources: { github: { scheme: "github", secret } } },
  };
  for (const runtime of names) {
    const fits = ({ name }: { readonly name: string }): boolean =>
      `${runtime} ${name}`.includes(only);
    const all = inputs.filter(fits);
    if (all.length === 0) continue;
    const { command, env } = causeyCommand(runtime, config);
    // The npm browser in place of the one that only says that nothing is rendered.
    const server = await start(command, { ...env, CAUSEY_CHROMIUM_PATH: "" });
    await prepare(server.url);
    const title = `neighbours: /healthz on ${runtime}`;
    const figures = [once(title, "nothing", await waits(server.url, () => pause(ms)), [])];
    for (const input of all) {
      const end = performance.now() + ms;
      let status = 0;
      let count = 0;
      const work = async (): Promise<void> => {
        const send = sender(server.url, input);
        do {
          status = await send();
          count++;
        } while (performance.now() < end);
      };
      const found = await waits(server.url, work);
      const { goals = [{ what: "longest ms", atMost: LONGEST }] } = input;
      figures.push(once(title, input.name, { ...found, answers: count, status }, goals));
    }
    yield figures;
    await server.stop();
  }
  await upstream.stop();
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function prepare(url: URL): Promise<void> {
  const { path, headers, body } = makeGateway({ id: "bench", authentication: false });
  await expectOk(
    await fetch(new URL(path, url), { method: "POST", headers: { ...json, ...headers }, body }),
  );
  const instances = new URL(`${account}/ai-search/instances`, url);
  const authorization = `Bearer ${TOKEN}`;
  const docs = JSON.stringify({ id: "docs" });
  await expectOk(
    await fetch(instances, { method: "POST", headers: { ...json, authorization }, body: docs }),
  );
  // Unpacks and starts the browser.
  const first = JSON.stringify({ html: "<p>first" });
  const content = new URL(`${account}/browser-rendering/content`, url);
  await expectOk(
    await fetch(content, { method: "POST", headers: { ...json, authorization }, body: first }),
  );
}

async function expectOk(response: Response): Promise<void> {
  const text = await response.text();
  if (!response.ok) throw new Error(`${response.url}: ${response.status} ${text}`);
}

/** Sends an input; its result is the status. */
function sender(url: URL, { path, body, headers }: Input): () => Promise<number> {
  const made = body();
  const bytes = typeof made === "string" ? Buffer.from(made) : made;
  const type = typeof made === "string" ? json : {};
  return async () => {
    const signed = typeof made === "string" ? headers?.(made) : {};
    const response = await fetch(new URL(path, url), {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, ...type, ...signed },
      body: bytes,
    });
    await response.arrayBuffer();
    return response.status;
  };
}

/** How long answers of `/healthz` took while some work was done. */
async function waits(url: URL, work: () => Promise<void>): Promise<Record<string, number>> {
  const probe = new Worker(new URL("harness/probe.ts", import.meta.url), {
    workerData: { url: new URL("/healthz", url).href },
  });
  await work();
  const told = new Promise<number[]>((resolve, reject) => {
    probe.once("message", resolve);
    probe.once("error", reject);
  });
  probe.postMessage("end");
  const sorted = (await told).toSorted((a, b) => a - b);
  return {
    "p50 ms": percentile(sorted, 0.5),
    "p99 ms": percentile(sorted, 0.99),
    "longest ms": sorted.at(-1) ?? Number.NaN,
  };
}
