// How well each way of searching finds what questions of one's own say: `npm run bench -- search-eval INSTANCE FILE` asks a
// running server, which CAUSEY_PORT, CAUSEY_DATA_DIR, CAUSEY_TOKEN and CAUSEY_ACCOUNT_ID name as for the command `causey`.
// A line of the file is {"query": …, "relevant": [KEYS] or {KEY: GRADE}, "answer": TEXT or [TEXTS]}.
import { readFileSync } from "node:fs";
import { type ApiClient, apiClient } from "../adapters/cli/api/api-client.ts";
import { type Figure, once } from "./harness/figure.ts";
import { type FoundPassage, judge, readQuestions } from "./harness/judge.ts";
import type { Options } from "./harness/options.ts";

interface Way {
  readonly name: string;
  /** The indexes that it needs. */
  readonly needs: readonly ("keyword" | "vector")[];
  readonly retrieval: Readonly<Record<string, unknown>>;
  /** @default false */
  readonly reranks?: boolean;
}

const both = ["keyword", "vector"] as const;
const ways: readonly Way[] = [
  { name: "keyword", needs: ["keyword"], retrieval: { retrieval_type: "keyword" } },
  {
    name: "vector",
    needs: ["vector"],
    retrieval: { retrieval_type: "vector", match_threshold: 0 },
  },
  { name: "hybrid", needs: both, retrieval: { retrieval_type: "hybrid" } },
  {
    name: "hybrid, max",
    needs: both,
    retrieval: { retrieval_type: "hybrid", fusion_method: "max" },
  },
  { name: "hybrid, reranked", needs: both, retrieval: { retrieval_type: "hybrid" }, reranks: true },
];

/** Runs `search-eval` on the instance and the questions that are given. */
export async function* bench({ rest: [instance, file] }: Options): AsyncGenerator<Figure[]> {
  if (instance === undefined || file === undefined) {
    process.stderr.write(
      "Left out: search-eval needs questions: npm run bench -- search-eval INSTANCE QUESTIONS.jsonl\n",
    );
    return;
  }
  const questions = readQuestions(readFileSync(file, "utf8"), file);
  const api = apiClient({});
  const path = `/ai-search/namespaces/default/instances/${encodeURIComponent(instance)}`;
  const { result } = await api.ask<{ index_method: Record<"keyword" | "vector", boolean> }>(path);
  const title = `search-eval: ${instance}, ${questions.length} questions`;
  const figures: Figure[] = [];
  for (const way of ways) {
    if (!way.needs.every((index) => result.index_method[index])) continue;
    const found = await judge(questions, (query) => ask(api, path, query, way));
    figures.push(once(title, way.name, found, []));
  }
  yield figures;
}

async function ask(
  api: ApiClient,
  path: string,
  query: string,
  { retrieval, reranks = false }: Way,
): Promise<readonly FoundPassage[]> {
  const options = { retrieval: { ...retrieval, max_num_results: 50 } };
  const json = {
    query,
    ai_search_options: reranks ? { ...options, reranking: { enabled: true } } : options,
  };
  const { result } = await api.ask<{ readonly chunks: FoundPassage[] }>(`${path}/search`, {
    method: "POST",
    json,
  });
  return result.chunks;
}
