import type { ActorContext, Sql, SqlRow } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { textLanguage, type StemmedLanguage } from "../text/languages.ts";

/** Chunks that are looked at, evenly spread, and characters of each. */
const LOOKED_AT = 200;
const CHARACTERS = 400;
/** The share of these chunks that must be in a language: a foreign quotation does not count. */
const SHARE = 0.02;
/** How much an instance may grow until its languages are looked at again. */
const GROWTH = 1.1;

/** The languages of an instance's texts, English aside. */
export interface InstanceLanguages {
  /** @param nextChunk the number that the next chunk will have */
  of(nextChunk: number): Promise<readonly StemmedLanguage[]>;
  /** The instance is deleted: a later one of the name counts its chunks from 1 again. */
  forget(): void;
}

type LanguageContext = Pick<ActorContext, "name"> & { readonly sql: Pick<Sql, "all"> };

export function instanceLanguages(context: LanguageContext): InstanceLanguages {
  let known: { readonly until: number; readonly languages: readonly StemmedLanguage[] } | null =
    null;
  return {
    async of(nextChunk) {
      if (known !== null && nextChunk < known.until) return known.languages;
      const rows = await someChunks(context, nextChunk);
      const counts = new Map<StemmedLanguage, number>();
      for (const row of rows) {
        const text = `${String(row["heading"])}\n${String(row["text"]).slice(0, CHARACTERS)}`;
        const language = textLanguage(text);
        if (language !== null) counts.set(language, (counts.get(language) ?? 0) + 1);
      }
      const languages = [...counts]
        .filter(([, count]) => count >= SHARE * rows.length)
        .map(([language]) => language)
        .toSorted();
      known = { until: Math.max(nextChunk + 1, nextChunk * GROWTH), languages };
      return languages;
    },
    forget() {
      known = null;
    },
  };
}

/** Reads chunks that are evenly spread; those that were added last where most of the others are gone. */
async function someChunks(
  { name: actor, sql }: LanguageContext,
  nextChunk: number,
): Promise<readonly SqlRow[]> {
  const step = Math.max(1, nextChunk / LOOKED_AT);
  const spread = Array.from({ length: LOOKED_AT }, (_, n) => 1 + Math.floor(n * step));
  const ids = [...new Set(spread)].filter((id) => id < nextChunk);
  const select = "SELECT heading, text FROM search_chunks WHERE actor = ?";
  const rows = await sql.all(`${select} AND ${isOneOf("id", "BIGINT")}`, [actor, asSet(ids)]);
  if (2 * rows.length >= ids.length) return rows;
  return sql.all(`${select} ORDER BY id DESC LIMIT ${LOOKED_AT}`, [actor]);
}
