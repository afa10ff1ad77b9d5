import type { InstanceState } from "../state/instance-state.ts";
import type { CacheThreshold } from "../state/search-schema.ts";
import type { Answer } from "../retrieve/answerer.ts";
import { words } from "../text/segment.ts";

/** Answers that one instance keeps. */
const MOST = 1000;
/** Questions of one context that are compared. */
const COMPARED = 100;

/** Returns an answer given to a similar enough question in the same context; null without one. */
export async function cachedAnswer(
  { actor, context: { sql, steady } }: InstanceState,
  context: string,
  question: string,
  threshold: CacheThreshold,
): Promise<Answer | null> {
  const rows = await sql.all(
    `SELECT question, answer FROM search_answers WHERE actor = ? AND context = ? AND expires_ms > ?
      ORDER BY expires_ms DESC, question LIMIT ${COMPARED}`,
    [actor, context, steady()],
  );
  const exact = rows.find((row) =>
    areAlike(String(row["question"]), question, "super_strict_match"),
  );
  const found = exact ?? rows.find((row) => areAlike(String(row["question"]), question, threshold));
  return found === undefined ? null : (JSON.parse(String(found["answer"])) as Answer);
}

/** An answer to keep, with the question and the context that it belongs to. */
export interface KeptAnswer {
  readonly context: string;
  readonly question: string;
  readonly answer: Answer;
  /** Seconds. */
  readonly ttl: number;
}

/** Keeps an answer for `ttl` ms. */
export async function keepAnswer(
  { actor, context: { sql, steady } }: InstanceState,
  { context, question, answer, ttl }: KeptAnswer,
): Promise<void> {
  const now = steady();
  const key = normalQuestion(question).slice(0, 2000);
  await sql.batch(
    [
      {
        sql: `INSERT INTO search_answers (actor, context, question_key, question, answer, expires_ms) VALUES (?, ?, ?, ?, ?, ?)
          ON CONFLICT (actor, context, question_key) DO UPDATE SET question = excluded.question,
          answer = excluded.answer, expires_ms = excluded.expires_ms`,
        params: [actor, context, key, question.slice(0, 8192), JSON.stringify(answer), now + ttl],
      },
      {
        sql: "DELETE FROM search_answers WHERE actor = ? AND expires_ms <= ?",
        params: [actor, now],
      },
      {
        sql: `DELETE FROM search_answers WHERE actor = ? AND expires_ms < (SELECT MIN(expires_ms) FROM
          (SELECT expires_ms FROM search_answers WHERE actor = ? ORDER BY expires_ms DESC LIMIT ${MOST}) AS kept)`,
        params: [actor, actor],
      },
    ],
    { lazy: true },
  );
}

/** The least share of common pieces that two questions must have. */
const SHARES: Readonly<Record<Exclude<CacheThreshold, "super_strict_match">, number>> = {
  close_enough: 0.85,
  flexible_friend: 0.7,
  anything_goes: 0.5,
};

/** Words that turn a question around, whatever else it says. */
const NEGATIONS: ReadonlySet<string> = new Set(
  "no not never none nobody nothing without cannot nor neither except t n't nicht kein keine nie ohne non pas jamais sans".split(
    " ",
  ),
);

/** Returns the question in the form in which equal ones are equal: case, punctuation and blanks do not count. */
function normalQuestion(text: string): string {
  return words(text, "query").join(" ");
}

/**
 * Whether two questions are alike enough for one answer. Numbers and negations have to be the same ones, in the same order,
 * whatever the threshold.
 */
function areAlike(a: string, b: string, threshold: CacheThreshold): boolean {
  const [x, y] = [normalQuestion(a), normalQuestion(b)];
  if (x === "" || y === "") return a.trim() === b.trim();
  if (x === y) return true;
  if (threshold === "super_strict_match" || fixedWords(x) !== fixedWords(y)) return false;
  return commonShare(pieces(x), pieces(y)) >= SHARES[threshold];
}

function fixedWords(text: string): string {
  return text
    .split(" ")
    .filter((word) => /\p{N}/u.test(word) || NEGATIONS.has(word))
    .join(" ");
}

/** Splits into runs of four characters: scripts without spaces have them too, and the order of words counts. */
function pieces(text: string): Set<string> {
  const out = new Set<string>();
  const padded = ` ${text} `;
  for (let at = 0; at + 4 <= padded.length; at++) out.add(padded.slice(at, at + 4));
  return out.size === 0 ? new Set([padded]) : out;
}

function commonShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let common = 0;
  for (const piece of a) if (b.has(piece)) common++;
  return common / (a.size + b.size - common);
}
