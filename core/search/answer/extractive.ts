import type { Answer, AnswerDelta, Answerer, Question } from "./answerer.ts";
import { countTokens } from "../text/count-tokens.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";
import { isStopWord } from "../text/stop-words.ts";

const MAX_SENTENCES = 4;
/** Chunks that are read for sentences, and sentences of one chunk. */
const MAX_CHUNKS = 10;
const MAX_PER_CHUNK = 200;
const MAX_LENGTH = 500;

interface Sentence {
  readonly text: string;
  readonly source: number;
  readonly place: number;
  readonly terms: ReadonlySet<string>;
}

/** An answerer that quotes the sentences that share most with the question, each with the number of its source. */
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
  const asked = termsOf(query);
  const chosen = choose(sentencesOf(chunks.slice(0, MAX_CHUNKS)), asked);
  const quotes = chosen.map(({ text, source }) => `${text} [${source}]`).join(" ");
  const sources = [...new Set(chosen.map((one) => one.source))].toSorted((a, b) => a - b);
  const list = sources
    .map((source) => `[${source}] ${chunks[source - 1]?.item.key ?? ""}`)
    .join("\n");
  const whole = `${quotes}\n\nSources:\n${list}`;
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

/** The text cut to the tokens that a request allows. */
function shortened(text: string, parameters: Question["parameters"]): string {
  const most = parameters["max_completion_tokens"] ?? parameters["max_tokens"];
  if (typeof most !== "number" || countTokens(text) <= most) return text;
  const pieces = text.split(/(?<=\s)/);
  while (pieces.length > 0 && countTokens(pieces.join("")) > most) pieces.pop();
  return pieces.join("");
}

function sentencesOf(chunks: Question["chunks"]): Sentence[] {
  return chunks.flatMap((chunk, index) =>
    split(chunk.text)
      .slice(0, MAX_PER_CHUNK)
      .map((text, place) => ({ text, source: index + 1, place, terms: termsOf(text) })),
  );
}

/** A fenced block of code, or the beginning of one that the chunk cuts off. */
const CODE = /^[ \t]*(`{3,}|~{3,})[^]*?(?:^[ \t]*\1.*$|$(?![^]))/gm;

/** Sentences of running text, and rows of tables; headings, code and bare list markers are no sentences. */
function split(text: string): string[] {
  const prose = text
    .replaceAll(CODE, "")
    .split(/\n{2,}|\n(?=\s*(?:[-*+|]|\d+\.)\s)/)
    .map((block) =>
      block
        .replaceAll(/^\s*#{1,6}\s.*$/gm, "")
        .replaceAll(/\s+/g, " ")
        .trim(),
    )
    .filter((block) => /[^|:\s-]/.test(block));
  return prose
    .flatMap((block) => block.split(/(?<=[.!?])\s+(?=\S)|(?<=[。！？])/))
    .map((sentence) =>
      sentence
        .replace(/^(?:[-*+>]|\d+\.)\s+/, "")
        .trim()
        .slice(0, MAX_LENGTH),
    )
    .filter((sentence) => sentence.length > 1);
}

/** The best sentence first, then those that add terms that are not covered yet; in reading order. */
function choose(sentences: readonly Sentence[], asked: ReadonlySet<string>): Sentence[] {
  const open = new Set(asked);
  const left = [...sentences];
  const chosen: Sentence[] = [];
  while (chosen.length < MAX_SENTENCES && left.length > 0) {
    const scores = left.map((one) => score(one, open, asked));
    const best = scores.reduce((at, value, index) => (value > (scores[at] ?? 0) ? index : at), 0);
    if (chosen.length > 0 && (scores[best] ?? 0) <= 0) break;
    const [taken] = left.splice(best, 1);
    if (taken === undefined) break;
    chosen.push(taken);
    for (const term of taken.terms) open.delete(term);
  }
  return chosen.toSorted((a, b) => a.source - b.source || a.place - b.place);
}

/** Question terms in the sentence, new ones in full; early chunks first; no more than a word's worth for length. */
function score(
  { terms, source, place }: Sentence,
  open: ReadonlySet<string>,
  asked: ReadonlySet<string>,
): number {
  let shared = 0;
  for (const term of terms) shared += open.has(term) ? 1 : asked.has(term) ? 0.25 : 0;
  if (shared === 0) return 0;
  return (shared / Math.sqrt(4 + terms.size)) * (1 / (1 + 0.15 * (source - 1))) - place * 1e-4;
}

function termsOf(text: string): Set<string> {
  return new Set(
    words(text, "query")
      .filter((word) => !isStopWord(word))
      .map(stem),
  );
}
