import type { ActorContext } from "../../ports.ts";
import { asSet, isOneOf } from "../../sql/sql-text.ts";
import { textLanguage, type StemmedLanguage } from "../text/languages.ts";

/** Chunks that are looked at, evenly spread, and characters of each. */
const LOOKED_AT = 200;
const CHARACTERS = 400;
/** The share of these chunks that must be in a language: a foreign quotation is no language of the documents. */
const SHARE = 0.02;
/** How much an instance may grow until its languages are looked at again. */
const GROWTH = 1.1;

/** The languages of an instance's texts, English aside. */
export interface InstanceLanguages {
  /** @param nextChunk the number that the next chunk will have */
  of(nextChunk: number): Promise<readonly StemmedLanguage[]>;
}

/** Makes the memory of an instance's languages. */
export function instanceLanguages({ name: actor, sql }: ActorContext): InstanceLanguages {
  let known: { readonly until: number; readonly languages: readonly StemmedLanguage[] } | null =
    null;
  return {
    async of(nextChunk) {
      if (known !== null && nextChunk < known.until) return known.languages;
      const step = Math.max(1, nextChunk / LOOKED_AT);
      const ids = new Set(Array.from({ length: LOOKED_AT }, (_, n) => 1 + Math.floor(n * step)));
      const rows = await sql.all(
        `SELECT heading, text FROM search_chunks WHERE actor = ? AND ${isOneOf("id", "BIGINT")}`,
        [actor, asSet([...ids])],
      );
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
  };
}
