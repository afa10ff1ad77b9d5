// A keyword search of one instance with 20,000 chunks, without a filter and behind filters that nearly all, a tenth and a
// few of its items pass, and with facets and sorting, in this process over the API's routes. The unfiltered search is the
// unit: each of these may cost as much again. `search-filters ITEMS` takes another number of items.
import { nodePlatform } from "../adapters/node/mod.ts";
import { search } from "../core/search/mod.ts";
import type { Figure } from "./harness/figure.ts";
import { compareFunctions } from "./harness/functions.ts";
import type { Options } from "./harness/options.ts";

const ITEMS = 20_000;
const UNFILTERED = "no filter";
const goals = [{ of: UNFILTERED, atMost: 2 }];
const searches = [
  { name: UNFILTERED, retrieval: {}, goals: [] },
  { name: "90 % pass", retrieval: { filters: { lang: "en" } }, goals },
  { name: "a range, nearly all pass", retrieval: { filters: { n: { $gte: 5 } } }, goals },
  { name: "10 % pass", retrieval: { filters: { lang: "de" } }, goals },
  { name: "50 items pass", retrieval: { filters: { n: { $lt: 50 } } }, goals },
  { name: "facets of two fields", retrieval: { facets: ["lang", "n"] }, goals },
  { name: "sorted, each item in its place", retrieval: { sort: ["n:asc"] }, goals },
  { name: "sorted, two places", retrieval: { sort: ["lang:desc"] }, goals },
  { name: "one result of each of two values", retrieval: { distinct: "lang" }, goals },
];

/** Runs `search-filters`. */
export async function* bench(options: Options): AsyncGenerator<Figure[]> {
  const platform = await nodePlatform({ dataDir: ":memory:", log: () => undefined });
  const app = search({ platform, auth: "off" });
  const base = "/accounts/bench/ai-search/instances";
  const call = async (path: string, body: unknown): Promise<void> => {
    const headers = { "content-type": "application/json" };
    const response = await app.request(path, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    await response.arrayBuffer();
  };
  await call(base, {
    id: "docs",
    index_method: { vector: false, keyword: true },
    custom_metadata: [
      { field_name: "lang", data_type: "text" },
      { field_name: "n", data_type: "number" },
    ],
  });
  const text = texts();
  const upload = async (n: number): Promise<void> => {
    const form = new FormData();
    form.set("file", new File([text()], `d${n}.txt`, { type: "text/plain" }));
    form.set("metadata", JSON.stringify({ lang: n % 10 === 0 ? "de" : "en", n }));
    form.set("wait_for_completion", "true");
    await app.request(`${base}/docs/items`, { method: "POST", body: form });
  };
  const items = Number(options.rest[0] ?? ITEMS);
  for (let n = 0; n < items; n += 50)
    await Promise.all(Array.from({ length: 50 }, (_, i) => upload(n + i)));
  const contestants = searches.map((one) => ({
    name: one.name,
    goals: one.goals,
    run: (n: number) =>
      call(`${base}/docs/search`, {
        query: `word${n % 7} word${n % 11} word${20 + (n % 13)}`,
        ai_search_options: {
          retrieval: {
            retrieval_type: "keyword",
            ...one.retrieval,
          },
        },
      }),
  }));
  yield await compareFunctions("search: filters", contestants, options);
  await platform.close();
}

/** Texts of 80 words, a few of them far more frequent than the others; the same in every run. */
function texts(): () => string {
  let seed = 1;
  const random = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    return seed / 0x7fffffff;
  };
  return () =>
    Array.from({ length: 80 }, () => `word${Math.floor(random() ** 3 * 3000)}`).join(" ");
}
