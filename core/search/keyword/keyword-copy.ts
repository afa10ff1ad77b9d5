import { ApiError } from "../../http/api-error.ts";
import type { ActorContext, Sql, Statement } from "../../ports.ts";
import { SqlError } from "../../sql/sql-error.ts";
import { resultOrLate } from "../../time/result-or-late.ts";
import { createTurns, type InTurn } from "./turns.ts";
import {
  atPosition,
  type Copy,
  dropCopy,
  insertRow,
  prepareCopies,
  replaced,
  toPosition,
  withNames,
} from "./keyword-copy-rows.ts";
import {
  createKeywordIndex,
  KEYWORD_COLUMNS,
  type KeywordSettings,
  type KeywordTable,
  makeWords,
  toKeywordRow,
  tokenizerOf,
  wordsOf,
} from "./keyword-index.ts";
import type { KeywordChange, KeywordStore } from "./keyword-change.ts";

/** Chunks that are copied at a time: the thread of long batches takes them, and their texts are prepared in a few ms. */
const PAGE = 256;
/** How long a search waits for a copy, in ms. */
const WAIT_MS = 5000;
/** The copies that are in use, by database and instance: a former instance of an actor must not write into that of the next. */
const inUse = new WeakMap<Sql, Map<string, Copy>>();

function inUseOf(database: Sql): Map<string, Copy> {
  const known = inUse.get(database) ?? new Map<string, Copy>();
  inUse.set(database, known);
  return known;
}

/**
 * Makes the store of a table in another database than the rows. The rows are the truth: each change of them gives them a
 * new position, and the table follows after the commit. A table whose position is another one is made from the rows again.
 */
export function copiedKeywords(
  context: ActorContext,
  table: KeywordTable,
  database: () => Sql,
): KeywordStore {
  const { actor } = table;
  const { system } = context;
  const { forget, holds, inTurn, open } = copyKeeper(context, table, database);

  async function follow(copy: Copy, change: KeywordChange, position: string): Promise<void> {
    copy.position = position;
    if (holds(copy) && change.type === "item")
      await database().batch(await replaced(database(), table, copy, change));
    else forget();
  }

  /** Commits a change of chunks; the rows change whether or not the copy can follow. */
  async function commitRows<T>(
    change: KeywordChange,
    write: (together: readonly Statement[]) => Promise<T>,
  ): Promise<T> {
    const copy = change.type === "item" ? await open().catch(() => null) : null;
    const position = system.id();
    try {
      const result = await write([toPosition(actor, position)]);
      if (copy === null) forget();
      else await inTurn(() => follow(copy, change, position)).catch(forget);
      return result;
    } catch (error) {
      // Nobody knows at which position the rows are.
      if (error instanceof SqlError && error.reason === "unknown") forget();
      throw error;
    }
  }

  return {
    all: (...query) => database().all(...query),
    async words() {
      const copy = await open();
      if (!copy.hasWords) await database().batch([makeWords(table)]);
      copy.hasWords = true;
      return wordsOf(table);
    },
    // One of a version before is at no position of this one.
    renew: () => Promise.resolve(),
    async ready() {
      const copy = await open();
      if (copy.cursor < Number.POSITIVE_INFINITY)
        await resultOrLate(copy.filled, undefined, { ms: WAIT_MS, system });
      if (copy.cursor === Number.POSITIVE_INFINITY && holds(copy)) return;
      if (!holds(copy)) forget();
      throw await notReady(context, table, database());
    },
    async commit(change, write) {
      if (change === null) return write([]);
      if (change.type !== "drop") return commitRows(change, write);
      const result = await write([]);
      forget();
      // A copy that cannot be removed now is removed when it has not been used for long.
      await inTurn(() => database().batch(dropCopy(table))).catch(() => undefined);
      return result;
    },
  };
}

/** Opens the copy of an instance, and fills it. */
interface CopyKeeper {
  /** Runs reads of pages and changes of the copy, one after the other. */
  readonly inTurn: InTurn;
  /** Opens the copy, unless it is open; it may still be filled. */
  readonly open: () => Promise<Copy>;
  /** Has the copy compared with the rows at its next use. */
  readonly forget: () => void;
  /** Whether this instance still has the copy. */
  readonly holds: (copy: Copy) => boolean;
}

function copyKeeper(context: ActorContext, table: KeywordTable, database: () => Sql): CopyKeeper {
  const { system } = context;
  const inTurn = createTurns();
  let opened: Promise<Copy> | undefined;
  const holds = (copy: Copy): boolean => inUseOf(database()).get(table.actor) === copy;

  async function fill(copy: Copy): Promise<void> {
    // Later instances of the actor, on this server too, make a copy of their own.
    while (
      copy.cursor < Number.POSITIVE_INFINITY &&
      holds(copy) &&
      system.closing?.aborted !== true
    )
      await inTurn(() => fillPage(context, table, { copy, database: database(), holds }));
  }

  return {
    inTurn,
    holds,
    forget() {
      opened = undefined;
    },
    open() {
      if (opened !== undefined) return opened;
      const opening = inTurn(() => openCopy(context, table, database()));
      opened = opening;
      const filling = opening.then(async (copy) => {
        if (copy.cursor < Number.POSITIVE_INFINITY) await (copy.filled = fill(copy));
      });
      // The next one who needs it tries again.
      const again = (): void => {
        if (opened === opening) opened = undefined;
      };
      system.waitUntil(filling.catch(again));
      return opening;
    },
  };
}

const POSITION = `SELECT i.settings, p.position FROM search_instances i
  LEFT JOIN search_keyword_positions p ON p.actor = i.actor WHERE i.actor = ?`;

/** Takes over the table that is there, or begins an empty one when it is not at the position of the rows. */
async function openCopy(
  { sql, system }: ActorContext,
  table: KeywordTable,
  database: Sql,
): Promise<Copy> {
  const { actor } = table;
  await prepareCopies(database, system.now());
  const [row] = await sql.all(POSITION, [actor]);
  // `as`: an instance stores its own settings.
  const settings = JSON.parse(String(row?.["settings"])) as KeywordSettings;
  const tokenizer = tokenizerOf(settings);
  let position = row?.["position"] ?? null;
  if (position === null) {
    position = system.id();
    await sql.batch([toPosition(actor, position)]);
  }
  const [own] = await database.all("SELECT position FROM search_copies WHERE actor = ?", [actor]);
  const copy: Copy = {
    tokenizer,
    cursor: own?.["position"] === withNames(String(position)) ? Number.POSITIVE_INFINITY : 0,
    position: String(position),
    filled: Promise.resolve(),
    hasWords: false,
  };
  // No await from here to the batch: batches are committed in their order, so one of a former instance comes before.
  inUseOf(database).set(actor, copy);
  const used = "INSERT OR REPLACE INTO search_copies (actor, name, position, used_ms)";
  await database.batch(
    copy.cursor === 0
      ? [
          ...dropCopy(table),
          ...createKeywordIndex(table, tokenizer),
          { sql: `${used} VALUES (?, ?, NULL, ?)`, params: [actor, table.index, system.now()] },
        ]
      : [
          {
            sql: `${used} VALUES (?, ?, ?, ?)`,
            params: [actor, table.index, withNames(copy.position), system.now()],
          },
        ],
  );
  return copy;
}

interface Filling {
  readonly copy: Copy;
  readonly database: Sql;
  readonly holds: (copy: Copy) => boolean;
}

/** Copies the next chunks; after the last ones the table has the position of the rows. */
async function fillPage(
  { sql }: ActorContext,
  table: KeywordTable,
  { copy, database, holds }: Filling,
): Promise<void> {
  const { actor } = table;
  const rows = await sql.all(
    `SELECT ${KEYWORD_COLUMNS} WHERE c.actor = ? AND c.id > ? ORDER BY c.id LIMIT ${PAGE}`,
    [actor, copy.cursor],
    { long: actor },
  );
  const statements = rows.flatMap((row) =>
    insertRow(table, copy, String(row["item_id"]), toKeywordRow(row)),
  );
  const isLast = rows.length < PAGE;
  if (isLast) statements.push(atPosition(actor, copy.position));
  if (!holds(copy)) return;
  await database.batch(statements);
  copy.cursor = isLast ? Number.POSITIVE_INFINITY : Number(rows.at(-1)?.["id"]);
}

/** Makes the error of a search that comes before its index, with how far that is. */
async function notReady(
  { sql }: ActorContext,
  { actor }: KeywordTable,
  database: Sql,
): Promise<ApiError> {
  const count = async (from: Pick<Sql, "all">, query: string): Promise<number> => {
    const [row] = await from.all(query, [actor]);
    return Number(row?.["n"] ?? 0);
  };
  const done = await count(database, "SELECT COUNT(*) AS n FROM search_chunks WHERE actor = ?");
  const all = await count(sql, "SELECT chunks AS n FROM search_instances WHERE actor = ?");
  return new ApiError("unavailable", {
    message: `The keyword index of this instance is being made again at its present server, which has ${done} of ${all} chunks: try again in a few seconds`,
    headers: { "retry-after": "2" },
  });
}
