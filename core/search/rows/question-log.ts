import type { SqlRow, Statement } from "../../ports.ts";
import type { InstanceState } from "../state/instance-state.ts";
import { words } from "../text/segment.ts";
import { pauseOrClosing } from "../../time/pause-or-closing.ts";

/** Different questions that an instance keeps, those asked last. */
const MOST = 1_000;
/** Milliseconds after which a question that nobody asked again is forgotten: as long as events are kept. */
const KEPT_MS = 30 * 24 * 60 * 60 * 1000;
/** Characters of a question that are kept. */
const LENGTH = 300;
/** The score below which the best passage hardly answers a question: it holds less than half of its words. */
const LOW_SCORE = 0.5;
/** Milliseconds after which questions are stored: what a killed process may forget. */
const STORE_AFTER = 500;

/** A question of a search or a chat, over all times that it was asked. Letter case and punctuation do not count. */
export type AskedQuestion = {
  readonly question: string;
  readonly asked: number;
  /** How often nothing was found. */
  readonly not_found: number;
  /** How often the best passage scored less than 0.5. */
  readonly low_score: number;
  /** How often a client told that somebody chose a result. */
  readonly clicks: number;
  /** The score of the best passage, the last time; 0 without one, null where only a click told of the question. */
  readonly best_score: number | null;
  readonly last_asked_at: string;
};

/** Which questions a report has. */
export type QuestionKind = "all" | "not_found" | "low_score" | "no_clicks";

/** A page of a report. */
export type QuestionPage = { readonly questions: AskedQuestion[]; readonly total: number };

/** The questions of one instance. Counted in memory and stored a moment later, so that no search waits for a write. */
export interface QuestionLog {
  /** Counts a question with the score of its best passage; 0 = none was found. */
  note(question: string, best: number): void;
  /** Counts a click on a result; returns whether questions are kept. */
  click(question: string): boolean;
  page(kind: QuestionKind, page: number, perPage: number): Promise<QuestionPage>;
  clear(): Promise<void>;
  /** Drops what is not stored yet. Call it in the turn in which the rows go. */
  forget(): void;
}

interface Counts {
  question: string;
  asked: number;
  none: number;
  low: number;
  clicks: number;
  best: number | null;
  last: number;
}

const conditions: Readonly<Record<QuestionKind, string>> = {
  all: "1 = 1",
  not_found: "none > 0",
  low_score: "low > 0",
  no_clicks: "clicks = 0",
};

export function questionLog(state: InstanceState): QuestionLog {
  const { actor, context } = state;
  const { sql, system } = context;
  const counted = pendingCounts(state);
  return {
    note(question, best) {
      const counts = counted.of(question);
      if (counts === null) return;
      counts.asked += 1;
      counts.best = best;
      if (best === 0) counts.none += 1;
      else if (best < LOW_SCORE) counts.low += 1;
    },
    click(question) {
      const counts = counted.of(question);
      if (counts !== null) counts.clicks += 1;
      return counts !== null;
    },
    async page(kind, page, perPage) {
      await counted.store();
      const where = `actor = ? AND last_ms > ? AND ${conditions[kind]}`;
      const params = [actor, system.now() - KEPT_MS];
      const [[count], rows] = await Promise.all([
        sql.all(`SELECT COUNT(*) AS n FROM search_questions WHERE ${where}`, params),
        sql.all(
          `SELECT * FROM search_questions WHERE ${where}
            ORDER BY asked DESC, last_ms DESC, question_key LIMIT ? OFFSET ?`,
          [...params, perPage, (page - 1) * perPage],
        ),
      ]);
      return { questions: rows.map(toQuestion), total: Number(count?.["n"] ?? 0) };
    },
    async clear() {
      counted.forget();
      await sql.batch([clearQuestions(actor)]);
    },
    forget: () => {
      counted.forget();
    },
  };
}

/** The statement that forgets the stored questions of an instance. */
export function clearQuestions(actor: string): Statement {
  return { sql: "DELETE FROM search_questions WHERE actor = ?", params: [actor] };
}

/** The counts that are not stored yet. */
interface PendingCounts {
  /** Those of a question, to be added to; null where it is not kept. */
  of(question: string): Counts | null;
  store(): Promise<void>;
  forget(): void;
}

function pendingCounts(state: InstanceState): PendingCounts {
  const { actor, context } = state;
  const { sql, system } = context;
  let pending = new Map<string, Counts>();
  const store = (): Promise<void> =>
    // In turn with deletion, which must not leave rows behind.
    state.inTurn(async () => {
      const counted = pending;
      pending = new Map();
      if (counted.size === 0 || !state.exists()) return;
      const rows = [...counted].map(([key, counts]) => upsert(actor, key, counts));
      await sql.batch([...rows, ...forgetOld(actor, system.now())], { lazy: true });
    });
  return {
    of(question) {
      const key = keyOf(question);
      if (key === "" || state.facts().settings.log_questions === false) return null;
      const known = pending.get(key);
      // A burst of different questions has no more rows than are kept.
      if (known === undefined && pending.size >= MOST) return null;
      const counts = known ?? newCounts(question);
      counts.last = system.now();
      pending.set(key, counts);
      if (pending.size === 1 && known === undefined)
        system.waitUntil(pauseOrClosing(STORE_AFTER, system).then(store));
      return counts;
    },
    store,
    forget() {
      pending = new Map();
    },
  };
}

function newCounts(question: string): Counts {
  const text = question.trim().slice(0, LENGTH).toWellFormed();
  return { question: text, asked: 0, none: 0, low: 0, clicks: 0, best: null, last: 0 };
}

/** The words of a question, by which questions are the same. */
function keyOf(question: string): string {
  return words(question.slice(0, LENGTH).toWellFormed(), "query").join(" ").slice(0, LENGTH);
}

function upsert(
  actor: string,
  key: string,
  { question, asked, none, low, clicks, best, last }: Counts,
): Statement {
  return {
    sql: `INSERT INTO search_questions (actor, question_key, question, asked, none, low, clicks, best, last_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT (actor, question_key) DO UPDATE SET question = excluded.question, asked = search_questions.asked + ?,
      none = search_questions.none + excluded.none, low = search_questions.low + excluded.low,
      clicks = search_questions.clicks + excluded.clicks, best = COALESCE(excluded.best, search_questions.best),
      last_ms = excluded.last_ms`,
    // A result was clicked, so its question was asked at least once, perhaps while it was being typed.
    params: [actor, key, question, Math.max(1, asked), none, low, clicks, best, last, asked],
  };
}

function forgetOld(actor: string, now: number): Statement[] {
  return [
    {
      sql: "DELETE FROM search_questions WHERE actor = ? AND last_ms <= ?",
      params: [actor, now - KEPT_MS],
    },
    {
      sql: `DELETE FROM search_questions WHERE actor = ? AND question_key NOT IN
        (SELECT question_key FROM search_questions WHERE actor = ? ORDER BY last_ms DESC, question_key LIMIT ${MOST})`,
      params: [actor, actor],
    },
  ];
}

function toQuestion(row: SqlRow): AskedQuestion {
  return {
    question: String(row["question"]),
    asked: Number(row["asked"]),
    not_found: Number(row["none"]),
    low_score: Number(row["low"]),
    clicks: Number(row["clicks"]),
    best_score: row["best"] === null ? null : Number(row["best"]),
    last_asked_at: new Date(Number(row["last_ms"])).toISOString(),
  };
}
