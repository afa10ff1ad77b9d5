import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gain } from "./judge.ts";

/** A document or a query. */
export interface Entry {
  readonly id: string;
  readonly title?: string;
  readonly text: string;
}

/** A retrieval test collection. */
export interface Collection {
  readonly docs: readonly Entry[];
  readonly queries: readonly Entry[];
  /** Grades of documents, by query. */
  readonly grades: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Reads docs.jsonl, queries.jsonl and qrels.tsv (query, document, grade); undefined when they are not there. */
export function readCollection(folder: string | undefined): Collection | undefined {
  if (folder === undefined || !existsSync(join(folder, "docs.jsonl"))) return undefined;
  const lines = (name: string): string[] =>
    readFileSync(join(folder, name), "utf8").trimEnd().split("\n");
  const grades = new Map<string, Map<string, number>>();
  for (const line of lines("qrels.tsv")) {
    const [query = "", doc = "", grade = "0"] = line.split("\t");
    const known = grades.get(query) ?? new Map<string, number>();
    grades.set(query, known.set(doc, Number(grade)));
  }
  return {
    docs: lines("docs.jsonl").map((line): Entry => JSON.parse(line)),
    queries: lines("queries.jsonl").map((line): Entry => JSON.parse(line)),
    grades,
  };
}

/** Normalised discounted cumulative gain of the first ten, linear gain, mean over judged queries. */
export async function ndcg(
  { queries, grades }: Collection,
  search: (query: string) => readonly string[] | Promise<readonly string[]>,
): Promise<number> {
  const results: number[] = [];
  for (const { id, text } of queries) {
    const judged = grades.get(id);
    if (judged === undefined) continue;
    const ideal = [...judged.values()].toSorted((a, b) => b - a);
    const found = (await search(text)).map((doc) => judged.get(doc) ?? 0);
    results.push(gain(ideal) > 0 ? gain(found) / gain(ideal) : 0);
  }
  return results.reduce((sum, value) => sum + value, 0) / results.length;
}
