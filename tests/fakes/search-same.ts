import { searchParts } from "../../core/search/mod.ts";
import type { Platform } from "../../core/ports.ts";

/** Documents that are uploaded. */
const documents: readonly (readonly [key: string, text: string])[] = [
  ["cats.md", "# Cats\n\nCats sleep on warm roofs.\n\n## Food\n\nThey eat fish and mice."],
  ["cafe.md", "Crème brûlée at the café, naïve and cheap. 東京の猫は屋根で眠る。"],
  ["dogs.md", "Dogs bark at the postman."],
  ["thatch.md", "Roofs of thatch burn well, and cats know it."],
  [
    "long.md",
    Array.from(
      { length: 80 },
      (_, n) => `## Part ${n}\n\nRoof tile ${n} is warm; a cat lies on tile ${n * 7}.`,
    ).join("\n\n"),
  ],
];
/** Documents that are changed, or deleted, afterwards: what they had at first must not be found. */
const changed: readonly (readonly [key: string, text: string | null])[] = [
  ["dogs.md", "Dogs sleep below the roof, cats above it."],
  ["thatch.md", null],
];

const asked: readonly Readonly<Record<string, unknown>>[] = [
  { query: "warm roofs" },
  { query: "cat tile 42" },
  { query: 'roofs -dogs "cats"', ai_search_options: { retrieval: { query_operators: true } } },
  { query: "creme brulee" },
  { query: "屋根 猫" },
  { query: "bark postman", ai_search_options: { retrieval: { retrieval_type: "keyword" } } },
  {
    query: "slepe roofs",
    ai_search_options: {
      retrieval: { retrieval_type: "keyword", typo_tolerance: { enabled: true } },
    },
  },
  {
    query: "warm roo",
    ai_search_options: { retrieval: { retrieval_type: "keyword", prefix: true } },
  },
  {
    query: "roof cats",
    ai_search_options: {
      retrieval: { filters: { filename: { $ne: "long.md" } }, max_num_results: 3 },
    },
  },
];

const root = "/accounts/acme/ai-search/instances";

/** The search API of a platform, for the same documents and questions on several. */
export interface SameSearch {
  /** Makes the instance and uploads the documents. */
  seed(): Promise<void>;
  /** Changes a document and deletes another. */
  change(): Promise<void>;
  /** Returns the answers to all questions as text. Ids of items and times, which chance makes, are left out. */
  answers(): Promise<string>;
}

/** Opens the search API of a platform. */
export function sameSearch(platform: Platform): SameSearch {
  const { routes } = searchParts({ platform, auth: "off", accountId: "acme" });
  const send = async (method: string, path: string, body?: unknown) => {
    const encoded = new Response(body instanceof FormData ? body : JSON.stringify(body));
    const type =
      body instanceof FormData ? encoded.headers.get("content-type") : "application/json";
    const init = { method, headers: { "content-type": type ?? "" } };
    const request = new Request(
      `http://test${root}${path}`,
      body === undefined ? { method } : { ...init, body: await encoded.arrayBuffer() },
    );
    const response = await routes.fetch(request);
    return { status: response.status, text: await response.text() };
  };
  const must = async (...request: Parameters<typeof send>): Promise<string> => {
    const { status, text } = await send(...request);
    if (status >= 300) throw new Error(`${request.join(" ")}: ${status} ${text}`);
    return text;
  };
  const upload = async (key: string, content: string): Promise<string> => {
    const form = new FormData();
    form.set("file", new File([content], key, { type: "text/markdown" }));
    form.set("wait_for_completion", "true");
    const { result } = JSON.parse(await must("POST", "/main/items", form)) as {
      readonly result: { readonly id: string };
    };
    return result.id;
  };
  const ids = new Map<string, string>();
  return {
    async seed() {
      await must("POST", "", { id: "main" });
      for (const [key, content] of documents) ids.set(key, await upload(key, content));
    },
    async change() {
      for (const [key, content] of changed)
        if (content !== null) await upload(key, content);
        else await must("DELETE", `/main/items/${ids.get(key)}`);
    },
    async answers() {
      const texts: string[] = [];
      for (const body of asked) texts.push(await must("POST", "/main/search", body));
      const text = texts.join("\n");
      const keys = /"id":"([^":]+):\d+".*?"key":"([^"]+)"/gu;
      const found = new Map([...text.matchAll(keys)].map(([, id = "", key = ""]) => [id, key]));
      return [...found]
        .reduce((all, [id, key]) => all.replaceAll(id, key), text)
        .replaceAll(/"(?:timestamp|created_at|modified_at|last_modified)":[^,}]+/gu, '"at":0');
    },
  };
}
