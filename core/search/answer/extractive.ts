import type { Answer, AnswerDelta, Answerer, Question } from "../retrieve/answerer.ts";
import { type Passage, passagesOf } from "./passages.ts";
import { queryTerms } from "../terms/query-terms.ts";
import { countTokens } from "../text/count-tokens.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";

const MAX_PASSAGES = 3;
/** Chunks that are read for passages. */
const MAX_CHUNKS = 10;
/** Rows of a table that are quoted. */
const MAX_ROWS = 5;
/** Below that share of the question nothing was found: what is quoted would answer another one. */
const LEAST_COVERAGE = 0.5;
/** The least worth of a further passage, as a share of the best one's. */
const LEAST_SHARE = 0.5;

const NOTHING = "Nothing was found in the documents that answers this question.";

interface Candidate {
  readonly text: string;
  /** Its headings and its key, which tell what it is about. */
  readonly title: string;
  readonly source: number;
  /** The search's score of its chunk, relative to the best chunk's. */
  readonly rank: number;
  readonly place: number;
  readonly terms: ReadonlySet<string>;
}

/**
 * An answerer that quotes the passages that share most with the question, each below its headings and with the number of its
 * source, and says so when nothing that was found is about the question.
 */
export const extractiveAnswerer: Answerer = {
  complete: (question) => Promise.resolve(extract(question)),
  async *stream(question, signal): AsyncGenerator<AnswerDelta> {
    const { content, finishReason, usage } = extract(question);
    for (const piece of content.split(/(?<=\s)/)) {
      signal.throwIfAborted();
      yield { content: piece, finishReason: null };
    }
    await Promise.resolve();
    yield { content: "", finishReason, usage };
  },
};

function extract({ query, messages, chunks, parameters }: Question): Answer {
  const asked = new Set(queryTerms(query, "porter").map(stem));
  const isFound = chunks.some(
    ({ scoring_details: { coverage } }) => (coverage ?? 1) >= LEAST_COVERAGE,
  );
  const chosen = isFound ? choose(candidatesOf(chunks.slice(0, MAX_CHUNKS), asked), asked) : [];
  const quotes = chosen.map(({ title, source, text }) => `**${title}** [${source}]\n\n${text}`);
  const sources = [...new Set(chosen.map((one) => one.source))].toSorted((a, b) => a - b);
  const list = sources
    .map((source) => `[${source}] ${chunks[source - 1]?.item.key ?? ""}`)
    .join("\n");
  const whole = chosen.length === 0 ? NOTHING : `${quotes.join("\n\n")}\n\nSources:\n${list}`;
  const content = shortened(whole, parameters);
  const prompt = messages.reduce(
    (sum, message) => sum + countTokens(JSON.stringify(message.content ?? "")),
    0,
  );
  const context = chunks.reduce((sum, chunk) => sum + countTokens(chunk.text), 0);
  const completion = countTokens(content);
  return {
    content,
    refusal: null,
    finishReason: content === whole ? "stop" : "length",
    usage: {
      prompt_tokens: prompt + context,
      completion_tokens: completion,
      total_tokens: prompt + context + completion,
    },
  };
}

/** Returns the text cut to the tokens that a request allows. */
function shortened(text: string, parameters: Question["parameters"]): string {
  const most = parameters["max_completion_tokens"] ?? parameters["max_tokens"];
  if (typeof most !== "number" || countTokens(text) <= most) return text;
  const pieces = text.split(/(?<=\s)/);
  while (pieces.length > 0 && countTokens(pieces.join("")) > most) pieces.pop();
  return pieces.join("");
}

function candidatesOf(chunks: Question["chunks"], asked: ReadonlySet<string>): Candidate[] {
  const best = Math.max(...chunks.map(({ score }) => score), Number.MIN_VALUE);
  return chunks.flatMap((chunk, index) => {
    const { heading = "", text, item } = chunk;
    const rank = chunk.score / best;
    // The columns of a table stand above its rows.
    const path = heading.split(" > ").filter((part) => part !== "" && !part.includes(" | "));
    const title = path.length === 0 ? item.key : path.join(" > ");
    const above = termsOf(heading);
    return passagesOf(text, heading).map((passage, place) => {
      const quoted = quotedText(passage, asked);
      const terms = new Set([...above, ...termsOf(quoted)]);
      return { text: quoted, title, source: index + 1, rank, place, terms };
    });
  });
}

/** Returns a passage as it is quoted: of a long table the rows that share most with the question. */
function quotedText({ text, rows }: Passage, asked: ReadonlySet<string>): string {
  if (rows.length === 0) return text;
  const shared = rows.map((row) => [...termsOf(row)].filter((term) => asked.has(term)).length);
  const bar = shared.toSorted((a, b) => b - a)[MAX_ROWS - 1] ?? 0;
  const kept = rows.filter(
    (_, n) => rows.length <= MAX_ROWS || (shared[n] ?? 0) >= Math.max(1, bar),
  );
  return [text, ...kept.slice(0, MAX_ROWS)].join("\n").trim();
}

/** Chooses the best passage first, then those that add something new, in the order of their sources. */
function choose(candidates: readonly Candidate[], asked: ReadonlySet<string>): Candidate[] {
  const weights = new Map(
    [...asked].map((term) => {
      const having = candidates.filter(({ terms }) => terms.has(term)).length;
      return [term, Math.log(1 + candidates.length / (1 + having))] as const;
    }),
  );
  const open = new Set(asked);
  const left = [...candidates];
  const chosen: Candidate[] = [];
  let best = 0;
  while (chosen.length < MAX_PASSAGES && left.length > 0) {
    const scores = left.map((one) => worth(one, weights, open));
    const at = scores.reduce((top, value, index) => (value > (scores[top] ?? 0) ? index : top), 0);
    const score = scores[at] ?? 0;
    if (score <= best * LEAST_SHARE) break;
    best = Math.max(best, score);
    const [taken] = left.splice(at, 1);
    if (taken === undefined) break;
    // The end of a chunk may stand at the beginning of the next.
    if (chosen.some(({ text }) => text.includes(taken.text) || taken.text.includes(text))) continue;
    chosen.push(taken);
    for (const term of taken.terms) open.delete(term);
  }
  return chosen.toSorted((a, b) => a.source - b.source || a.place - b.place);
}

/**
 * Weighs a passage: the search's score of its chunk, and the share of the question that it holds. Terms that other passages
 * already hold count half.
 */
function worth(
  { terms, rank, place }: Candidate,
  weights: ReadonlyMap<string, number>,
  open: ReadonlySet<string>,
): number {
  let shared = 0;
  let whole = 0;
  for (const [term, weight] of weights) {
    whole += weight;
    if (terms.has(term)) shared += open.has(term) ? weight : weight / 2;
  }
  return shared === 0 ? 0 : rank * (0.4 + (0.6 * shared) / whole) - place * 1e-4;
}

function termsOf(text: string): Set<string> {
  return new Set(words(text, "query").map(stem));
}
