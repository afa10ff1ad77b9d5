// A search instance of 100,000 chunks over HTTP, on Node: `npm run bench -- search-large [CHUNKS] [--seconds 5]`. The database is
// built once, below bench/.cache, and used again; delete that folder to have it built anew. A chunk is 80 words of 30,000 that
// are as unevenly frequent as words are. How fast a new instance is filled is measured at each run, with 10,000 chunks.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { causeyCommand } from "./harness/causey.ts";
import { type Figure, once } from "./harness/figure.ts";
import type { Options } from "./harness/options.ts";
import {
  type Client,
  clientOf,
  create,
  crowd,
  fill,
  paced,
  SEARCHERS,
  SECTIONS,
  sizeOf,
  trained,
  typed,
} from "./harness/search-client.ts";
import { start } from "./harness/servers.ts";

const CHUNKS = 100_000;
const FILLED = 10_000;
const VOCABULARY = 30_000;
/** Words of one chunk. */
const WORDS = 80;
/** Cold starts that are measured; the middle one counts. */
const STARTS = 3;

/** Runs `search-large`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const chunks = Number(options.rest[0] ?? CHUNKS);
  const title = `search-large: ${chunks} chunks, Node, over HTTP`;
  const folder = new URL(`.cache/search-${chunks}/`, import.meta.url).pathname;
  const text = await built(folder, chunks);
  const server = causeyCommand("Node", {}, folder);
  yield [await coldStart(title, server)];
  yield await searches(title, server, options.ms);
  const size = { "disk / text": sizeOf(`${folder}causey.db`) / text, "text MB": text / 1e6 };
  yield [once(title, "room", size, [{ what: "disk / text", atMost: 4 }])];
  yield await ingest();
}

/** Builds the database unless it is there; the bytes of its text. */
async function built(folder: string, chunks: number): Promise<number> {
  const facts = `${folder}facts.json`;
  if (existsSync(facts)) return (JSON.parse(readFileSync(facts, "utf8")) as { text: number }).text;
  process.stderr.write(`Building the database in ${folder}, once\n`);
  const unfinished = folder.replace(/\/$/u, "-unfinished");
  rmSync(unfinished, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const { command, env } = causeyCommand("Node", {}, unfinished);
  const running = await start(command, env);
  const client = clientOf(running);
  await create(client, "docs", true);
  let text = 0;
  // A part at a time: nobody has to hold all documents.
  for (let from = 0; from < chunks / SECTIONS; from += 200) {
    const documents = texts(from, Math.min(200, chunks / SECTIONS - from));
    for (const one of documents) text += one.length;
    await fill(client, "docs", documents, from);
  }
  await trained(client);
  // Free pages are returned after ten seconds.
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  await running.stop();
  writeFileSync(`${unfinished}/facts.json`, JSON.stringify({ text }));
  renameSync(unfinished, folder);
  return text;
}

type Server = ReturnType<typeof causeyCommand>;

/** How long the first hybrid answer takes in a server that has just begun to listen. */
async function coldStart(title: string, { command, env }: Server): Promise<Figure> {
  const took: number[] = [];
  for (let n = 0; n < STARTS; n++) {
    const server = await start(command, env);
    const client = clientOf(server);
    const began = performance.now();
    await (await client.search("docs", question(n), typed("hybrid"))).arrayBuffer();
    took.push(performance.now() - began);
    await server.stop();
  }
  took.sort((a, b) => a - b);
  const figures = { "first hybrid answer ms": took[STARTS >> 1] ?? Number.NaN };
  return once(title, "cold start", figures, [{ what: "first hybrid answer ms", atMost: 300 }]);
}

const GOALS = { keyword: 8, hybrid: 16 } as const;
const FILTERS = [
  ["none", {}],
  ["nearly all pass", { filters: { n: { $gte: 1 } } }],
  ["a tenth passes", { filters: { n: { $gte: 0, $lt: CHUNKS / SECTIONS / 10 } } }],
] as const;

async function searches(title: string, { command, env }: Server, ms: number): Promise<Figure[]> {
  const server = await start(command, env);
  const client = clientOf(server);
  const figures: Figure[] = [];
  for (const leg of ["keyword", "hybrid"] as const) {
    let none = Number.NaN;
    for (const [name, filter] of FILTERS) {
      const retrieval = { ...typed(leg), ...filter };
      const own = await paced(ms, (n) => client.search("docs", question(n), retrieval));
      const p50 = own["p50 ms"] ?? Number.NaN;
      if (name === "none") none = p50;
      const goal =
        name === "none"
          ? { what: "p50 ms", atMost: GOALS[leg] }
          : { what: "times none", atMost: 2 };
      const measured = { ...own, "times none": p50 / none };
      figures.push(once(title, `${leg}, filter: ${name}`, measured, [goal]));
    }
  }
  const begun = (n: number): string => question(n).slice(0, -2);
  const asTyped = await paced(ms, (n) =>
    client.search("docs", begun(n), { ...typed("keyword"), prefix: true }),
  );
  figures.push(
    once(title, "keyword, the last word begun", asTyped, [{ what: "p50 ms", atMost: 8 }]),
  );
  const crowded = await crowd(client, ms * 2, question);
  const asked = { ...crowded, "ms a query": 1000 / (crowded["q/s"] ?? 0) };
  figures.push(
    once(title, `hybrid, ${SEARCHERS} clients`, asked, [
      // 70 in a second.
      { what: "ms a query", atMost: 1000 / 70 },
      { what: "/healthz p99 ms", atMost: 20 },
    ]),
    once(title, "memory after that", { "RSS MB": server.rssMb() }, [
      { what: "RSS MB", atMost: 350 },
    ]),
  );
  await server.stop();
  return figures;
}

/** How fast a new instance is filled: with a goal of 2,000 chunks a second with vectors, 6,000 without. */
async function ingest(): Promise<Figure[]> {
  const title = `search-large: filling ${FILLED} chunks, Node, over HTTP`;
  const { command, env } = causeyCommand("Node", {});
  const server = await start(command, env);
  const client: Client = clientOf(server);
  const documents = texts(0, FILLED / SECTIONS);
  const figures: Figure[] = [];
  for (const [id, name, goal] of [
    ["words", "keywords alone", 6000],
    ["docs", "builtin vectors", 2000],
  ] as const) {
    await create(client, id, id === "docs");
    const filled = await fill(client, id, documents);
    const own = { ...filled, "µs a chunk": 1e6 / (filled["chunks/s"] ?? 0) };
    figures.push(once(title, name, own, [{ what: "µs a chunk", atMost: 1e6 / goal }]));
  }
  await server.stop();
  return figures;
}

/** A sequence of numbers from 0 to 1 that is the same in every run. */
function numbers(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 12_345) & 0x7fffffff;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
}

const SYLLABLES = "ba ce di fo gu ha li mo ne pra qui ro sta te vu wen xi yar zo lin".split(" ");

/** A word by its rank: frequent ones are short. */
function word(rank: number): string {
  let out = "";
  for (let rest = rank + SYLLABLES.length; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    out += SYLLABLES[rest % SYLLABLES.length] ?? "";
  return out;
}

/** Documents `from` and the following ones. */
function texts(from: number, count: number): string[] {
  return Array.from({ length: count }, (_, n) => {
    const random = numbers(from + n + 1);
    const words = (): string =>
      Array.from({ length: WORDS }, () => word(Math.floor(random() ** 4 * VOCABULARY))).join(" ");
    const sections = Array.from({ length: SECTIONS }, (__, at) => `## Part ${at}\n\n${words()}`);
    return sections.join("\n\n");
  });
}

/** A question of three to eight words, none of the hundred most frequent. */
function question(n: number): string {
  const random = numbers(n * 31 + 7);
  const rank = (): number => 100 + Math.floor(random() ** 3 * (VOCABULARY / 4));
  return Array.from({ length: 3 + (n % 6) }, () => word(rank())).join(" ");
}
