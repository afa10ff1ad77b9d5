import type { QueryOptions } from "../../ports.ts";
import { BoundedMap } from "../../work/bounded-map.ts";
import type { KeywordStore } from "../keyword/keyword-change.ts";
import { stem } from "../text/porter.ts";
import { words } from "../text/segment.ts";

/** Letters of the shortest words that are kept: a compound of two short words. */
const LEAST = 8;
/** Words that are kept of one instance, about 12 bytes each. */
const MOST = 400_000;
/** How much may be added until all are read again. */
const GROWTH = 1.2;
/** Characters of added texts whose words are found at once; after more, all are read again. */
const AT_ONCE = 64 * 1024;
/** Words of questions of which compounds are kept. */
const KEPT = 500;

/** The stems of an instance's long words, in which compounds are looked for. */
export interface LongWords {
  /** Returns them, each on a line of its own. The first call reads them. */
  all(options: QueryOptions): Promise<string>;
  /** Adds those of texts that were added. */
  add(texts: readonly string[]): void;
  /** Returns what was found in them for a word, or finds it; kept until an item changes. */
  kept(word: string, find: () => Promise<readonly string[]>): Promise<readonly string[]>;
  /** After every commit that changes items. */
  reset(): void;
  forget(): void;
}

/** Keeps the long words of a full-text table, once somebody has asked for them. */
export function createLongWords(keywords: Pick<KeywordStore, "all" | "words">): LongWords {
  let read: Promise<string> | undefined;
  /** The words of texts that were added after that. */
  let added = "";
  let kept = new BoundedMap<string, Promise<readonly string[]>>(KEPT);

  async function readAll(options: QueryOptions): Promise<string> {
    const rows = await keywords.all(
      `SELECT GROUP_CONCAT(term, CHAR(10)) AS terms FROM
        (SELECT term FROM ${await keywords.words()} WHERE term >= 'a' AND term < '{' AND LENGTH(term) >= ${LEAST} LIMIT ${MOST}) AS long_words`,
      [],
      options,
    );
    return `\n${String(rows[0]?.["terms"] ?? "")}\n`;
  }

  const forget = (): void => {
    read = undefined;
    added = "";
  };

  return {
    async all(options) {
      read ??= readAll(options).catch((error: unknown) => {
        forget();
        throw error;
      });
      const before = await read;
      if (added.length <= before.length * (GROWTH - 1) + 10_000) return before + added;
      forget();
      return this.all(options);
    },
    add(texts) {
      if (read === undefined) return;
      if (texts.reduce((sum, { length }) => sum + length, 0) > AT_ONCE) return forget();
      const found = new Set(
        texts.flatMap((text) => words(text, "index").filter(({ length }) => length >= LEAST)),
      );
      added += [...found].map((word) => `${stem(word)}\n`).join("");
    },
    kept(word, find) {
      const current = kept;
      const known = current.get(word);
      if (known !== undefined) return known;
      const finding = find();
      current.set(word, finding);
      finding.catch(() => current.delete(word));
      return finding;
    },
    reset() {
      kept = new BoundedMap(KEPT);
    },
    forget,
  };
}
