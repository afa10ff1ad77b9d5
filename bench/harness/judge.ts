import { isObject, parsedJson } from "../../core/http/json.ts";

/** A question with the answers that a search should find. */
export interface JudgedQuestion {
  readonly query: string;
  /** Grades of items by their keys; 0 = not relevant. */
  readonly relevant: ReadonlyMap<string, number>;
  /** Texts that a right passage contains, compared without letter case and blanks; one or several. */
  readonly answers: readonly string[];
}

/** A chunk that was found. */
export interface FoundPassage {
  readonly text: string;
  readonly heading?: string;
  readonly item: { readonly key: string };
}

/** How well a way of searching did; without the figures that no question tells. */
export type Judgement = {
  /** Normalised discounted cumulative gain of the first ten items. */
  readonly "nDCG@10"?: number;
  /** Share of the relevant items among those of 50 chunks. */
  readonly recall?: number;
  /** How much of a question's answers stands in the first ten chunks and their headings, on average. */
  readonly "answer coverage"?: number;
};

/** Questions of one file: each asks the server once for each way of searching. */
const MAX_QUESTIONS = 10_000;

/** Parses the questions of a file, one JSON object a line. Throws for an invalid line, with its number and the fault. */
export function readQuestions(text: string, file: string): JudgedQuestion[] {
  const lines = text
    .split("\n")
    .flatMap((line, n) => (line.trim() === "" ? [] : [[line, n + 1] as const]));
  if (lines.length === 0 || lines.length > MAX_QUESTIONS)
    throw new TypeError(`${file}: Expected 1 to ${MAX_QUESTIONS} lines, one question each`);
  return lines.map(([line, number]) => readQuestion(line, `${file}, line ${number}`));
}

function readQuestion(line: string, where: string): JudgedQuestion {
  const value = parsedJson(line);
  if (!isObject(value)) throw new TypeError(`${where}: Expected a JSON object`);
  const { query, relevant = [], answer } = value;
  if (typeof query !== "string" || query.trim() === "")
    throw new TypeError(`${where}: "query" must be a text`);
  const answers: readonly unknown[] =
    answer === undefined ? [] : Array.isArray(answer) ? answer : [answer];
  const said = answers.filter((one) => typeof one === "string").filter((one) => plain(one) !== "");
  if (said.length < answers.length || (answer !== undefined && said.length === 0))
    throw new TypeError(
      `${where}: "answer" must be a text, or a list of texts, none of them empty`,
    );
  const grades = Array.isArray(relevant)
    ? relevant.map((key: unknown): [unknown, unknown] => [key, 1])
    : Object.entries(isObject(relevant) ? relevant : { "": null });
  const known = grades.filter(
    (pair): pair is [string, number] =>
      typeof pair[0] === "string" && typeof pair[1] === "number" && pair[1] >= 0,
  );
  if (known.length < grades.length)
    throw new TypeError(
      `${where}: "relevant" must be a list of keys, or an object of grades by keys`,
    );
  if (known.length === 0 && said.length === 0)
    throw new TypeError(`${where}: "relevant" or "answer" must say what should be found`);
  return { query, relevant: new Map(known), answers: said };
}

/** Measures how well `search` finds what the questions say. */
export async function judge(
  questions: readonly JudgedQuestion[],
  search: (query: string) => Promise<readonly FoundPassage[]>,
): Promise<Judgement> {
  const gains: number[] = [];
  const recalls: number[] = [];
  const coverages: number[] = [];
  for (const { query, relevant, answers } of questions) {
    const found = await search(query);
    const keys = [...new Set(found.map(({ item }) => item.key))];
    const wanted = [...relevant].filter(([, grade]) => grade > 0);
    if (wanted.length > 0) {
      const ideal = wanted.map(([, grade]) => grade).toSorted((a, b) => b - a);
      gains.push(gain(keys.map((key) => relevant.get(key) ?? 0)) / gain(ideal));
      recalls.push(wanted.filter(([key]) => keys.includes(key)).length / wanted.length);
    }
    if (answers.length === 0) continue;
    const passages = found
      .slice(0, 10)
      .map(({ heading = "", text }) => plain(`${heading} ${text}`));
    const there = answers.filter((one) => passages.some((passage) => passage.includes(plain(one))));
    coverages.push(there.length / answers.length);
  }
  return {
    ...(gains.length === 0 ? {} : { "nDCG@10": mean(gains), recall: mean(recalls) }),
    ...(coverages.length === 0 ? {} : { "answer coverage": mean(coverages) }),
  };
}

/** Returns the discounted cumulative gain of the first ten grades. */
export function gain(grades: readonly number[]): number {
  return grades.slice(0, 10).reduce((sum, grade, rank) => sum + grade / Math.log2(rank + 2), 0);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

function plain(text: string): string {
  return text.toLowerCase().replaceAll(/\s+/g, " ").trim();
}
