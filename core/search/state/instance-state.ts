import { sha256Hex } from "../../crypto/digest.ts";
import { type Clock, startClock } from "../../entity/clock.ts";
import { ApiError } from "../../http/api-error.ts";
import type { ActorContext, Statement } from "../../ports.ts";
import { type InstanceFacts, knownFacts } from "./instance-facts.ts";
import { LEXICAL_MODEL, TRAIN_FROM } from "../lexical/lexical-model.ts";
import type { KeywordStore } from "../keyword/keyword-change.ts";
import { keywordStore } from "../keyword/keyword-store.ts";
import { type InstanceLanguages, instanceLanguages } from "./instance-languages.ts";
import { createLongWords, type LongWords } from "./long-words.ts";
import { type Notifier, createNotifier } from "./notifier.ts";
import { earliestDue, endLeases } from "./work-rows.ts";
import { createTurns, type InTurn } from "../keyword/turns.ts";
import { type AllowedItems, createAllowedItems } from "../filter/allowed-items.ts";
import { createItemColumns, type ItemColumns } from "../filter/item-columns.ts";
import { convertVectors } from "../vectors/convert-vectors.ts";
import type { VectorBudget } from "../vectors/vector-budget.ts";
import { createVectorStore, type VectorStore } from "../lexical/vector-store.ts";
import { createTermCounts, type TermCounts } from "./term-counts.ts";

/** The running half of an instance actor: facts in memory, rows behind them. */
export interface InstanceState {
  readonly actor: string;
  readonly context: ActorContext;
  /** The instance's own full-text table: ranking statistics are per table. */
  readonly index: string;
  readonly keywords: KeywordStore;
  readonly vectors: VectorStore;
  readonly allowed: AllowedItems;
  readonly termCounts: TermCounts;
  readonly columns: ItemColumns;
  readonly languages: InstanceLanguages;
  readonly longWords: LongWords;
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
  /**
   * The statement that stores changed facts, or removes them (null). Follow its commit with {@link InstanceState.remember}:
   * otherwise the next work of {@link InstanceState.inTurn} reads them again, because nobody knows whether it counted.
   */
  save(facts: InstanceFacts | null): Statement;
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
  const known = await knownFacts(context);
  await endLeases({ actor, context });
  await convertVectors(context);
  const clock = await startClock(context, async () => {
    const facts = known.current();
    if (facts?.settings.paused === true) return null;
    const trains = facts !== null && needsTraining(facts);
    return trains ? context.steady() : earliestDue({ actor, context });
  });
  const index = await keywordIndexName(actor);
  const keywords = keywordStore(context, { actor, index });
  const memories = createMemories(context, { index, keywords }, budget);
  const vectors = createVectorStore(context, budget);
  const forgetCounts = (): void => {
    for (const one of Object.values(memories)) one.reset();
  };
  const inTurn = createTurns();
  return {
    actor,
    context,
    index,
    keywords,
    vectors,
    ...memories,
    languages: instanceLanguages(context),
    forgetCounts,
    clock,
    queueNews: createNotifier(),
    inTurn: (work) =>
      inTurn(async () => {
        if (!known.isSettled()) {
          await known.settle();
          vectors.reset();
          forgetCounts();
        }
        return work();
      }),
    trainInTurn: createTurns(),
    facts() {
      const facts = known.current();
      if (facts !== null) return facts;
      const id = actor.split("/").at(-1) ?? "";
      throw new ApiError("instance_not_found", {
        message: `ai_search_not_found: no instance "${id.slice(0, 64)}"`,
      });
    },
    exists: () => known.current() !== null,
    save: known.save,
    remember: known.remember,
  };
}

/** Makes the caches of the items, which are valid until one changes. */
function createMemories(
  context: ActorContext,
  table: Pick<InstanceState, "index" | "keywords">,
  budget: VectorBudget,
): Pick<InstanceState, "allowed" | "termCounts" | "columns" | "longWords"> {
  return {
    allowed: createAllowedItems(context),
    termCounts: createTermCounts(table),
    longWords: createLongWords(table.keywords),
    columns: createItemColumns(context, budget),
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
