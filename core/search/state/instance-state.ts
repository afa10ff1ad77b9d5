import { sha256Hex } from "../../crypto/digest.ts";
import { type Clock, startClock } from "../../entity/clock.ts";
import { ApiError } from "../../http/api-error.ts";
import type { ActorContext, QueryOptions, SqlRow, Statement } from "../../ports.ts";
import type { InstanceSettings } from "./instance-settings.ts";
import { LEXICAL_MODEL, TRAIN_FROM } from "../lexical/lexical-model.ts";
import { type Notifier, createNotifier } from "./notifier.ts";
import { earliestDue, endLeases } from "./work-rows.ts";
import { type AllowedItems, createAllowedItems } from "../filter/allowed-items.ts";
import { createItemColumns, type ItemColumns } from "../filter/item-columns.ts";
import { convertVectors } from "../vectors/convert-vectors.ts";
import type { VectorBudget } from "../vectors/vector-budget.ts";
import { createVectorStore, type VectorStore } from "../lexical/vector-store.ts";
import { quoted } from "../terms/query-terms.ts";

/** An instance's own facts; written through {@link InstanceState.save}. */
export interface InstanceFacts {
  readonly settings: InstanceSettings;
  readonly nextChunk: number;
  readonly chunks: number;
  /** Counts trainings; names the version of the builtin vectors. 0 = never trained. */
  readonly trainedVersion: number;
  /** Chunks that the last training saw. */
  readonly trainedChunks: number;
  readonly activeMs: number | null;
}

/** The running half of an instance actor: facts in memory, rows behind them. */
export interface InstanceState {
  readonly actor: string;
  readonly context: ActorContext;
  /** The instance's own full-text table: ranking statistics are per table. */
  readonly index: string;
  readonly vectors: VectorStore;
  readonly allowed: AllowedItems;
  readonly termCounts: TermCounts;
  readonly columns: ItemColumns;
  /** Drops what is kept of filters, words and columns. Call it after every commit that changes items. */
  forgetCounts(): void;
  /** Sets the alarm together with the work that it is for. */
  readonly clock: Clock;
  /** Notifies when work was put into the queue, or taken out. */
  readonly queueNews: Notifier;
  /**
   * Runs work that reads rows and writes them back, one at a time: the methods of an instance do not wait for its mailbox.
   */
  readonly inTurn: InTurn;
  /** One training at a time. */
  readonly trainInTurn: InTurn;
  /** Throws 7002 when the instance does not exist. */
  facts(): InstanceFacts;
  exists(): boolean;
  /** The statement that stores changed facts. Follow its commit with {@link InstanceState.remember}. */
  save(facts: InstanceFacts): Statement;
  remember(facts: InstanceFacts | null): void;
}

/** Returns the name of an instance's full-text table. */
export async function keywordIndexName(actor: string): Promise<string> {
  return `search_fts_${(await sha256Hex(actor)).slice(0, 24)}`;
}

/** Opens the state of an instance from its rows. */
export async function openState(
  context: ActorContext,
  budget: VectorBudget,
): Promise<InstanceState> {
  const actor = context.name;
  const [row] = await context.sql.all("SELECT * FROM search_instances WHERE actor = ?", [actor]);
  let current = row === undefined ? null : toFacts(row);
  await endLeases({ actor, context });
  await convertVectors(context);
  const clock = await startClock(context, async () => {
    if (current?.settings.paused === true) return null;
    const trains = current !== null && needsTraining(current);
    return trains ? context.steady() : earliestDue({ actor, context });
  });
  const index = await keywordIndexName(actor);
  const memories = createMemories(context, index, budget);
  return {
    actor,
    context,
    index,
    vectors: createVectorStore(context, budget),
    ...memories,
    forgetCounts() {
      for (const one of Object.values(memories)) one.reset();
    },
    clock,
    queueNews: createNotifier(),
    inTurn: createTurns(),
    trainInTurn: createTurns(),
    facts() {
      if (current !== null) return current;
      const id = actor.split("/").at(-1) ?? "";
      throw new ApiError("instance_not_found", {
        message: `ai_search_not_found: no instance "${id.slice(0, 64)}"`,
      });
    },
    exists: () => current !== null,
    save: (facts) => ({
      sql: `INSERT INTO search_instances (actor, settings, next_chunk, chunks, trained_version, trained_chunks, active_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (actor) DO UPDATE SET settings = excluded.settings,
        next_chunk = excluded.next_chunk, chunks = excluded.chunks, trained_version = excluded.trained_version,
        trained_chunks = excluded.trained_chunks, active_ms = excluded.active_ms`,
      params: [
        actor,
        JSON.stringify(facts.settings),
        facts.nextChunk,
        facts.chunks,
        facts.trainedVersion,
        facts.trainedChunks,
        facts.activeMs,
      ],
    }),
    remember(facts) {
      current = facts;
    },
  };
}

/** Makes the caches of the items, which are valid until one changes. */
function createMemories(
  context: ActorContext,
  index: string,
  budget: VectorBudget,
): Pick<InstanceState, "allowed" | "termCounts" | "columns"> {
  return {
    allowed: createAllowedItems(context),
    termCounts: createTermCounts(context, index),
    columns: createItemColumns(context, budget),
  };
}

function toFacts(row: SqlRow): InstanceFacts {
  return {
    settings: JSON.parse(String(row["settings"])) as InstanceSettings,
    nextChunk: Number(row["next_chunk"]),
    chunks: Number(row["chunks"]),
    trainedVersion: Number(row["trained_version"]),
    trainedChunks: Number(row["trained_chunks"]),
    activeMs: row["active_ms"] === null ? null : Number(row["active_ms"]),
  };
}

/** Whether the builtin vectors should be trained again: the corpus has grown by half since the last time. */
export function needsTraining({ settings, chunks, trainedChunks }: InstanceFacts): boolean {
  const builtin = settings.index_method.vector && settings.embedding_model === LEXICAL_MODEL;
  return builtin && chunks >= TRAIN_FROM && chunks >= trainedChunks * 1.5;
}

/** Returns the name under which current vectors are stored: those of another model or training are never mixed in. */
export function vectorTag(facts: InstanceFacts): string {
  const model = facts.settings.embedding_model;
  return model === LEXICAL_MODEL ? `${LEXICAL_MODEL}@${facts.trainedVersion}` : model;
}

/** Runs pieces of work one after another. Rejects with 503 when too many wait. */
export type InTurn = <T>(work: () => T | Promise<T>) => Promise<T>;

/** Pieces of work that wait for one instance. */
const MOST = 10_000;

/** Makes a line in which work waits for its turn. */
function createTurns(): InTurn {
  let tail: Promise<unknown> = Promise.resolve();
  let size = 0;
  return (work) => {
    if (size >= MOST) {
      const message = `${MOST} changes wait for this instance already: try again later`;
      return Promise.reject(
        new ApiError("unavailable", { message, headers: { "retry-after": "1" } }),
      );
    }
    size += 1;
    const result = tail.then(work).finally(() => {
      size -= 1;
    });
    tail = result.catch(() => undefined);
    return result;
  };
}

/** In how many chunks of an instance words stand, kept until an item changes. */
export interface TermCounts {
  of(terms: readonly string[], options: QueryOptions): Promise<ReadonlyMap<string, number>>;
  /** After every commit that changes items. */
  reset(): void;
}

/** Terms whose counts are kept. */
const KEPT = 1000;
/** Terms of one statement: Durable Objects take at most 100 parameters. */
const COUNTED = 64;

/** Makes the memory of counts over a full-text table. */
function createTermCounts({ sql }: ActorContext, index: string): TermCounts {
  let current = new Map<string, number>();
  return {
    async of(terms, options) {
      // Counts from before a change must not mix with counts from after it.
      const known = current;
      const missing = terms.filter((term) => !known.has(term));
      if (missing.length === 0) return known;
      if (known.size > KEPT) known.clear();
      for (let at = 0; at < missing.length; at += COUNTED) {
        const some = missing.slice(at, at + COUNTED);
        const counts = some.map(
          (_, n) => `(SELECT COUNT(*) FROM ${index} WHERE ${index} MATCH ?) AS n${n}`,
        );
        const [row] = await sql.all(`SELECT ${counts.join(", ")}`, some.map(quoted), options);
        for (const [n, term] of some.entries()) known.set(term, Number(row?.[`n${n}`] ?? 0));
      }
      return new Map(known);
    },
    reset() {
      current = new Map();
    },
  };
}
