// Search over HTTP: an instance of `npm run bench -- search [CHUNKS] [FOLDER…]` chunks (20,000 unless said otherwise) in a server on
// Node, with the builtin vectors and with keywords alone. How fast it is filled, how long an upload waits at most, queries by
// one client and by eight, `/healthz` meanwhile, what it takes in memory and on disk, and the first answer after a start. For
// each FOLDER with a collection (as `keyword-search` reads it): nDCG@10 of the three legs over HTTP, with the defaults.
import { causeyCommand } from "./harness/causey.ts";
import { type Collection, ndcg, readCollection } from "./harness/collection.ts";
import { type Figure, once } from "./harness/figure.ts";
import type { Options } from "./harness/options.ts";
import {
  clientOf,
  create,
  crowd,
  fill,
  legs,
  paced,
  SEARCHERS,
  SECTIONS,
  sizeOf,
  trained,
  typed,
} from "./harness/search-client.ts";
import { start } from "./harness/servers.ts";

const CHUNKS = 20_000;
/** Words of one chunk. */
const WORDS = 80;

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
