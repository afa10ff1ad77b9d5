// Search over HTTP: an instance of `npm run bench -- search [CHUNKS] [FOLDER…]` chunks (20,000 unless said otherwise) in a server on
// Node, with the builtin vectors and with keywords alone. How fast it is filled, how long an upload waits at most, queries by
// one client and by eight, `/healthz` meanwhile, what it takes in memory and on disk, and the first answer after a start. For
// each FOLDER with a collection (as `keyword-search` reads it): nDCG@10 of the three legs over HTTP, with the defaults.
import { existsSync, statSync } from "node:fs";
import { causeyCommand, TOKEN } from "./harness/causey.ts";
import { type Collection, ndcg, readCollection } from "./harness/collection.ts";
import { type Figure, once, percentile } from "./harness/figure.ts";
import type { Options } from "./harness/options.ts";
import { type Running, start } from "./harness/servers.ts";

const CHUNKS = 20_000;
/** Chunks of one document, and words of one chunk. */
const SECTIONS = 50;
const WORDS = 80;
const SEARCHERS = 8;
const UPLOADERS = 4;
const PROBE_MS = 20;
const legs = ["keyword", "vector", "hybrid"] as const;

type Leg = (typeof legs)[number];

/** Runs `search`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const [first = ""] = options.rest;
  const isCount = /^\d+$/u.test(first);
  yield await speed(isCount ? Number(first) : CHUNKS, options.ms);
  for (const folder of options.rest.slice(isCount ? 1 : 0)) {
    const collection = readCollection(folder);
    if (collection === undefined) process.stderr.write(`Left out: no collection in ${folder}\n`);
    else yield await quality(folder, collection);
  }
}

interface Client {
  readonly server: Running;
  readonly post: (path: string, body: object) => Promise<Response>;
  readonly upload: (
    instance: string,
    name: string,
    text: string,
    metadata: object,
  ) => Promise<void>;
  readonly search: (instance: string, query: string, retrieval: object) => Promise<Response>;
}

function clientOf(server: Running): Client {
  const root = new URL("/client/v4/accounts/local/ai-search", server.url).href;
  const authorization = `Bearer ${TOKEN}`;
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(`${root}${path}`, { method: "POST", ...init });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const post = (path: string, body: object): Promise<Response> =>
    send(path, {
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    server,
    post,
    async upload(instance, name, text, metadata) {
      const form = new FormData();
      form.set("file", new File([text], name, { type: "text/markdown" }));
      form.set("metadata", JSON.stringify(metadata));
      form.set("wait_for_completion", "true");
      const path = `/instances/${instance}/items`;
      await (await send(path, { headers: { authorization }, body: form })).arrayBuffer();
    },
    search: (instance, query, retrieval) =>
      post(`/instances/${instance}/search`, { query, ai_search_options: { retrieval } }),
  };
}

async function create({ post }: Client, id: string, vector: boolean): Promise<void> {
  const custom_metadata = [{ field_name: "n", data_type: "number" }];
  const settings = { id, index_method: { keyword: true, vector }, custom_metadata };
  await (await post("/instances", settings)).arrayBuffer();
}

async function speed(chunks: number, ms: number): Promise<Figure[]> {
  const title = `search: ${chunks} chunks, Node, over HTTP`;
  const { command, env } = causeyCommand("Node", {});
  let client = clientOf(await start(command, env));
  const documents = texts(chunks / SECTIONS);
  const figures: Figure[] = [];
  for (const [id, name] of [
    ["words", "keywords alone"],
    ["docs", "builtin vectors"],
  ] as const) {
    await create(client, id, id === "docs");
    const filled = await fill(client, id, documents);
    figures.push(once(title, `filled, ${name}`, filled, []));
  }
  await trained(client);
  const query = (n: number): string => `word${n % 7} word${n % 11} word${20 + (n % 13)}`;
  const unfiltered = await paced(ms, (n) => client.search("docs", query(n), typed("keyword")));
  for (const [name, retrieval] of [
    ["keyword", typed("keyword")],
    ["keyword, filter that nearly all pass", { ...typed("keyword"), filters: { n: { $gte: 1 } } }],
    ["vector", typed("vector")],
    ["hybrid", typed("hybrid")],
  ] as const) {
    const own = await paced(ms, (n) => client.search("docs", query(n), retrieval));
    const times = (own["p50 ms"] ?? Number.NaN) / (unfiltered["p50 ms"] ?? Number.NaN);
    figures.push(once(title, name, { ...own, "times keyword": times }, []));
  }
  figures.push(
    once(title, `hybrid, ${SEARCHERS} clients`, await crowd(client, ms, query), [
      { what: "/healthz p99 ms", atMost: 20 },
    ]),
  );
  const option = (flag: string): string => command[command.indexOf(flag) + 1] ?? "";
  const text = documents.reduce((sum, one) => sum + one.length, 0);
  const rss = client.server.rssMb();
  await client.server.stop();
  const disk = sizeOf(`${option("--data-dir")}/causey.db`);
  const server = await start(command, env);
  client = clientOf(server);
  const began = performance.now();
  await (await client.search("docs", query(1), typed("hybrid"))).arrayBuffer();
  const took = performance.now() - began;
  const figure = {
    "RSS MB": rss,
    "disk / text (two instances)": disk / text / 2,
    "first answer ms": took,
  };
  figures.push(once(title, "size, and the first hybrid answer after a start", figure, []));
  await server.stop();
  return figures;
}

const typed = (leg: Leg): object => ({ retrieval_type: leg });

/** Uploads all documents; the rate of chunks, and the longest wait of one upload. */
async function fill(
  { upload }: Client,
  instance: string,
  documents: readonly string[],
): Promise<Record<string, number>> {
  const waits: number[] = [];
  const began = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < documents.length) {
      const n = next++;
      const at = performance.now();
      await upload(instance, `d${n}.md`, documents[n] ?? "", { n });
      waits.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: UPLOADERS }, work));
  const seconds = (performance.now() - began) / 1000;
  return {
    "chunks/s": (documents.length * SECTIONS) / seconds,
    "p99 ms": percentile(
      waits.toSorted((a, b) => a - b),
      0.99,
    ),
    "longest ms": Math.max(...waits),
  };
}

/** Waits until the builtin vectors are those of the last training that is due. */
async function trained({ server }: Client): Promise<void> {
  const url = new URL("/client/v4/accounts/local/ai-search/instances/docs/stats", server.url);
  const headers = { authorization: `Bearer ${TOKEN}` };
  let before = "";
  for (let same = 0; same < 10;) {
    const { result } = (await (await fetch(url, { headers })).json()) as {
      readonly result: { readonly engine: unknown };
    };
    const now = JSON.stringify(result.engine);
    same = now === before ? same + 1 : 0;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Asks one question after the other. */
async function paced(
  ms: number,
  ask: (n: number) => Promise<Response>,
): Promise<Record<string, number>> {
  const took: number[] = [];
  for (let n = 0; n < 20; n++) await (await ask(n)).arrayBuffer();
  const end = performance.now() + ms;
  for (let n = 0; performance.now() < end; n++) {
    const at = performance.now();
    await (await ask(n)).arrayBuffer();
    took.push(performance.now() - at);
  }
  took.sort((a, b) => a - b);
  return { "p50 ms": percentile(took, 0.5), "p99 ms": percentile(took, 0.99) };
}

/** Several clients ask at once, while `/healthz` is looked at. */
async function crowd(
  client: Client,
  ms: number,
  query: (n: number) => string,
): Promise<Record<string, number>> {
  const end = performance.now() + ms;
  let asked = 0;
  const searcher = async (): Promise<void> => {
    while (performance.now() < end) {
      await (await client.search("docs", query(asked++), typed("hybrid"))).arrayBuffer();
    }
  };
  const waits: number[] = [];
  const probe = async (): Promise<void> => {
    while (performance.now() < end) {
      const at = performance.now();
      await (await fetch(new URL("/healthz", client.server.url))).arrayBuffer();
      waits.push(performance.now() - at);
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  };
  await Promise.all([probe(), ...Array.from({ length: SEARCHERS }, searcher)]);
  waits.sort((a, b) => a - b);
  return {
    "q/s": (asked * 1000) / ms,
    "/healthz p50 ms": percentile(waits, 0.5),
    "/healthz p99 ms": percentile(waits, 0.99),
  };
}

async function quality(folder: string, collection: Collection): Promise<Figure[]> {
  const { command, env } = causeyCommand("Node", {});
  const client = clientOf(await start(command, env));
  await create(client, "docs", true);
  for (const { id, title, text } of collection.docs) {
    const whole = title === undefined ? text : `# ${title}\n\n${text}`;
    await client.upload("docs", `${id}.md`, whole, {});
  }
  await trained(client);
  const name = folder.split("/").findLast((part) => part !== "") ?? folder;
  const figures: Figure[] = [];
  for (const leg of legs) {
    const found = async (query: string): Promise<string[]> => {
      const retrieval = { ...typed(leg), match_threshold: 0, max_num_results: 30 };
      const { result } = (await (await client.search("docs", query, retrieval)).json()) as {
        readonly result: { readonly chunks: { readonly item: { readonly key: string } }[] };
      };
      // Chunks of one document count once: the first is its place.
      return [...new Set(result.chunks.map(({ item }) => item.key.replace(/\.md$/u, "")))];
    };
    figures.push(once(`search: ${name}`, leg, { "nDCG@10": await ndcg(collection, found) }, []));
  }
  await client.server.stop();
  return figures;
}

function sizeOf(file: string): number {
  return [file, `${file}-wal`]
    .filter((one) => existsSync(one))
    .reduce((sum, one) => sum + statSync(one).size, 0);
}

/** Documents of sections whose words follow a steep distribution; the same in every run. */
function texts(count: number): string[] {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  const section = (_: unknown, n: number): string =>
    `## Part ${n}\n\n${Array.from({ length: WORDS }, () => `word${Math.floor(random() ** 3 * 3000)}`).join(" ")}`;
  return Array.from({ length: Math.ceil(count) }, () =>
    Array.from({ length: SECTIONS }, section).join("\n\n"),
  );
}
