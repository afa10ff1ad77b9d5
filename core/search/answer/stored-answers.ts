import type { InstanceState } from "../instance/instance-state.ts";
import type { CacheThreshold } from "../search-schema.ts";
import { areAlike, normalQuestion } from "./alike.ts";
import type { Answer } from "./answerer.ts";

/** Answers that one instance keeps. */
const MOST = 1000;
/** Questions of one context that are compared. */
const COMPARED = 100;

/** An answer that was given to a question alike enough, in the same context; null when there is none. */
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

/** Keeps an answer for `ttl` ms. */
export async function keepAnswer(
  { actor, context: { sql, steady } }: InstanceState,
  context: string,
  question: string,
  answer: Answer,
  ttl: number,
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
