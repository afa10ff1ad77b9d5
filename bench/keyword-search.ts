// Searching a collection of documents: MiniSearch as it comes and tuned (stemming, stop words), SQLite's FTS5 alone
// (the floor), and causey with each of its legs. First the building of the index, then queries; nDCG@10 beside.
// `npm run bench -- keyword-search FOLDER`: FOLDER holds docs.jsonl {id, title, text}, queries.jsonl {id, text} and
// qrels.tsv (query, document, grade). No collection is part of the project.
import { DatabaseSync } from "node:sqlite";
import { nodePlatform } from "../adapters/node/mod.ts";
import { utf8 } from "../core/crypto/encoding.ts";
import { uploadItem } from "../core/search/routes/index-item.ts";
import { type Instance, instanceAt } from "../core/search/actor/instance-client.ts";
import { matchExpression } from "../core/search/query/keyword-plan.ts";
import { queryTerms } from "../core/search/terms/query-terms.ts";
import { search as searchApi } from "../core/search/mod.ts";
import { createInstance } from "../core/search/routes/manage-instances.ts";
import { stem } from "../core/search/text/porter.ts";
import { isStopWord } from "../core/search/text/stop-words.ts";
import { type Collection, ndcg, readCollection } from "./harness/collection.ts";
import type { Figure, Goal } from "./harness/figure.ts";
import { compareFunctions, type FunctionContestant } from "./harness/functions.ts";
import type { Options } from "./harness/options.ts";
import { loadPeer } from "./harness/peers.ts";

type Search = (query: string) => readonly string[] | Promise<readonly string[]>;

/** An index that has been built. */
interface Index {
  /** How to search it, by the name of the contestant. */
  readonly searches: Readonly<Record<string, Search>>;
  readonly close: () => unknown;
}

interface Builder {
  readonly name: string;
  readonly goals?: readonly Goal[];
  readonly build: () => Index | Promise<Index>;
}

const TUNED = "MiniSearch, stemming + stop words";
const FLOOR = "node:sqlite FTS5 alone";

/** Runs `keyword-search` on the collection in the folder that is given. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const collection = readCollection(options.rest[0]);
  if (collection === undefined) {
    process.stderr.write(
      "Left out: keyword-search needs a collection: npm run bench -- keyword-search FOLDER\n",
    );
    return;
  }
  const builders = [...miniSearches(collection), plainFts(collection), ...ours(collection)];
  yield await compareFunctions(
    `keyword-search: index of ${collection.docs.length} documents`,
    builders.map(({ build, ...rest }) => ({
      ...rest,
      run: async () => (await build()).close(),
    })),
    // One build a round: the slowest takes seconds.
    { rounds: Math.min(options.rounds, 3), ms: 0 },
  );
  const indexes = await Promise.all(builders.map(async ({ build }) => build()));
  const contestants: FunctionContestant[] = [];
  for (const [name, search] of indexes.flatMap(({ searches }) => Object.entries(searches))) {
    contestants.push({
      name,
      goals: name === "causey keyword" ? [{ of: TUNED, atMost: 1 }] : [],
      extras: { "nDCG@10": await ndcg(collection, search) },
      run: (n) => search(collection.queries[n % collection.queries.length]!.text),
    });
  }
  yield await compareFunctions("keyword-search: query", contestants, options);
  for (const { close } of indexes) await close();
}

interface MiniSearch {
  addAll: (docs: readonly object[]) => void;
  search: (query: string, options: object) => { readonly id: string }[];
}

function miniSearches({ docs }: Collection): Builder[] {
  const Peer = loadPeer("minisearch") as (new (options: object) => MiniSearch) | undefined;
  if (Peer === undefined) return [];
  const builder = (name: string, options: object, boost: object): Builder => ({
    name,
    build() {
      const index = new Peer({ fields: ["title", "text"], ...options });
      index.addAll(docs);
      const search: Search = (query) => index.search(query, boost).map(({ id }) => id);
      return { searches: { [name]: search }, close: () => undefined };
    },
  });
  const processTerm = (term: string): string | null => {
    const lower = term.toLowerCase();
    return isStopWord(lower) ? null : stem(lower);
  };
  return [
    builder(TUNED, { processTerm }, { boost: { title: 3 } }),
    builder("MiniSearch as it comes", {}, {}),
  ];
}

function plainFts({ docs }: Collection): Builder {
  return {
    name: FLOOR,
    goals: [{ of: TUNED, atMost: 1 / 8 }],
    build() {
      const db = new DatabaseSync(":memory:");
      db.exec("CREATE VIRTUAL TABLE f USING fts5 (title, body, tokenize = 'porter unicode61')");
      const insert = db.prepare("INSERT INTO f (rowid, title, body) VALUES (?, ?, ?)");
      db.exec("BEGIN");
      for (const [n, { title = "", text }] of docs.entries()) insert.run(n + 1, title, text);
      db.exec("COMMIT");
      const find = db.prepare(
        "SELECT rowid AS id FROM f WHERE f MATCH ? ORDER BY bm25(f, 3.0, 1.0) LIMIT 10",
      );
      const search: Search = (query) => {
        const words = queryTerms(query, "porter").map((term) => ({ terms: [term], others: [] }));
        const match = matchExpression({ words, required: [], excluded: [] }, "or");
        const rows = match === null ? [] : find.all(match);
        return rows.map((row) => docs[Number(row["id"]) - 1]?.id ?? "");
      };
      return { searches: { [FLOOR]: search }, close: () => db.close() };
    },
  };
}

function ours(collection: Collection): Builder[] {
  const builder = (
    vector: boolean,
    legs: readonly ("keyword" | "vector" | "hybrid")[],
  ): Builder => ({
    name: vector ? "causey, keyword + vectors" : "causey, keyword only",
    async build() {
      const { instance, close } = await filled(collection, vector);
      const searches = legs.map((type) => [`causey ${type}`, searchOf(instance, type)] as const);
      return { searches: Object.fromEntries(searches), close };
    },
  });
  return [builder(false, ["keyword"]), builder(true, ["vector", "hybrid"])];
}

function searchOf(instance: Instance, type: "keyword" | "vector" | "hybrid"): Search {
  return async (query) => {
    // Chunks of one document count once: the first is its place.
    const { chunks } = await instance.search({ query, type, threshold: 0, limit: 30 });
    return [...new Set(chunks.map((chunk) => chunk.item.key.replace(/\.md$/, "")))];
  };
}

/** An instance with the whole collection, as uploads leave it behind. */
async function filled(
  { docs }: Collection,
  vector: boolean,
): Promise<{ instance: Instance; close: () => Promise<void> }> {
  const platform = await nodePlatform({ dataDir: ":memory:", log: () => undefined });
  const options = { platform };
  searchApi(options);
  const settings = { id: "bench", index_method: { keyword: true, vector } };
  await createInstance("bench", "default", settings, options);
  const instance = instanceAt(platform, { account: "bench", namespace: "default", id: "bench" });
  for (const { id, title, text } of docs) {
    const bytes = utf8(title === undefined ? text : `# ${title}\n\n${text}`);
    const upload = { key: `${id}.md`, contentType: "text/markdown", bytes };
    await uploadItem(instance, upload, true, options);
  }
  if (vector) await instance.train();
  return { instance, close: () => platform.close() };
}
