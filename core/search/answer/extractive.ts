import type { Answer, AnswerDelta, Answerer, Question } from "../retrieve/answerer.ts";
import { type Passage, passagesOf } from "./passages.ts";
import { type AskedWord, type AskedWords, coverage, wordFinder } from "../retrieve/coverage.ts";
import { countTokens } from "../text/count-tokens.ts";

const MAX_PASSAGES = 3;
/** Chunks that are read for passages. */
const MAX_CHUNKS = 10;
/** Rows of a table that are quoted. */
const MAX_ROWS = 5;
/**
 * Below that share of the question, in one passage, nothing was found: what is quoted would answer another one. A long question says
 * more than a passage needs to answer it.
 */
const LEAST_COVERAGE = 0.5;
const LEAST_COVERAGE_LONG = 0.4;
/** Words of a long question, without those that carry no topic. */
const LONG_QUESTION = 6;
/** The least worth of a further passage, as a share of the best one's. */
const LEAST_SHARE = 0.5;

/** A block of code, which ends a passage. */
const CODE = /^ {0,3}(?:`{3,}|~{3,})[\s\S]*/m;
/** The addresses of links, which readers do not see. */
const TARGETS = /(?<=\])\([^()\s]*\)/g;

const NOTHING = "Nothing was found in the documents that answers this question.";

interface Candidate {
  readonly text: string;
  /** Its headings and its key, which tell what it is about. */
  readonly title: string;
  readonly source: number;
  /** The search's score of its chunk, relative to the best chunk's. */
  readonly rank: number;
  readonly place: number;
  /** The words of the question that it and its headings hold. */
  readonly found: ReadonlySet<AskedWord>;
  /** The same without its code: names of commands and parts of addresses match by chance. */
  readonly foundInProse: ReadonlySet<AskedWord>;
}

type Finder = ReturnType<typeof wordFinder>;

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

const NO_WORDS: AskedWords = { words: [], withinWords: false };

function extract({ asked = NO_WORDS, messages, chunks, parameters }: Question): Answer {
  const candidates = candidatesOf(chunks.slice(0, MAX_CHUNKS), wordFinder(asked));
  // A chunk may be about much of the question, and none of its passages.
  const least = asked.words.length < LONG_QUESTION ? LEAST_COVERAGE : LEAST_COVERAGE_LONG;
  const isFound = candidates.some(({ foundInProse }) => coverage(asked, foundInProse) >= least);
  const chosen = isFound ? choose(candidates, asked) : [];
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

function candidatesOf(chunks: Question["chunks"], find: Finder): Candidate[] {
  const best = Math.max(...chunks.map(({ score }) => score), Number.MIN_VALUE);
  return chunks.flatMap((chunk, index) => {
    const { heading = "", text, item } = chunk;
    const rank = chunk.score / best;
    // The columns of a table stand above its rows.
    const path = heading.split(" > ").filter((part) => part !== "" && !part.includes(" | "));
    const title = path.length === 0 ? item.key : path.join(" > ");
    return passagesOf(text, heading).map((passage, place) => {
      const quoted = quotedText(passage, find);
      const read = `${heading}\n${quoted.replace(TARGETS, "")}`;
      const found = find(read);
      const foundInProse = CODE.test(read) ? find(read.replace(CODE, "")) : found;
      return { text: quoted, title, source: index + 1, rank, place, found, foundInProse };
    });
  });
}

/** Returns a passage as it is quoted: of a long table the rows that hold most of the question. */
function quotedText({ text, rows }: Passage, find: Finder): string {
  const weighed = rows.map((row, n) => ({
    row,
    n,
    weight: weightOf(find(row.replace(TARGETS, ""))),
  }));
  const kept =
    rows.length <= MAX_ROWS
      ? weighed
      : weighed
          .filter(({ weight }) => weight > 0)
          .toSorted((a, b) => b.weight - a.weight || a.n - b.n)
          .slice(0, MAX_ROWS)
          .toSorted((a, b) => a.n - b.n);
  return [text, ...kept.map(({ row }) => row)].join("\n").trim();
}

function weightOf(words: Iterable<AskedWord>): number {
  let sum = 0;
  for (const { weight } of words) sum += weight;
  return sum;
}

/** Chooses the best passage first, then those that add something new, in the order of their sources. */
function choose(candidates: readonly Candidate[], { words }: AskedWords): Candidate[] {
  const whole = weightOf(words);
  const open = new Set(words);
  const left = [...candidates];
  const chosen: Candidate[] = [];
  let best = 0;
  while (chosen.length < MAX_PASSAGES && left.length > 0) {
    const scores = left.map((one) => worth(one, whole, open));
    const at = scores.reduce((top, value, index) => (value > (scores[top] ?? 0) ? index : top), 0);
    const score = scores[at] ?? 0;
    if (score <= best * LEAST_SHARE) break;
    best = Math.max(best, score);
    const [taken] = left.splice(at, 1);
    if (taken === undefined) break;
    // The end of a chunk may stand at the beginning of the next.
    if (chosen.some(({ text }) => text.includes(taken.text) || taken.text.includes(text))) continue;
    chosen.push(taken);
    for (const word of taken.found) open.delete(word);
  }
  return chosen.toSorted((a, b) => a.source - b.source || a.place - b.place);
}

/**
 * Weighs a passage: the search's score of its chunk, and the share of the question that it holds. Words that other passages
 * already hold count half.
 */
function worth(
  { found, rank, place }: Candidate,
  whole: number,
  open: ReadonlySet<AskedWord>,
): number {
  let held = 0;
  for (const word of found) held += open.has(word) ? word.weight : word.weight / 2;
  return held === 0 ? 0 : Math.sqrt(rank) * (0.4 + (0.6 * held) / whole) - place * 1e-4;
}
