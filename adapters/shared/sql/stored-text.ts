import type { SqlRow } from "../../../core/ports.ts";

/**
 * PostgreSQL stores no U+0000 in texts, and `node:sqlite` of Deno reads a text only up to the first one. It is stored as two
 * U+0001, and U+0001 as U+0001 U+0002: texts keep their order, and each reads back as it was. Only the length that SQL
 * computes is larger. All runtimes do so, because a file that one of them wrote opens under another.
 */
export function toStoredText(text: string): string {
  if (!text.includes("\0") && !text.includes("\u0001")) return text;
  return text.replaceAll("\u0001", "\u0001\u0002").replaceAll("\0", "\u0001\u0001");
}

/** Reverses {@link toStoredText}. A text that SQL made, or an older version stored, may have U+0001 before anything else. */
export function fromStoredText(text: string): string {
  if (!text.includes("\u0001")) return text;
  let out = "";
  let from = 0;
  for (let at = text.indexOf("\u0001"); at !== -1; at = text.indexOf("\u0001", from)) {
    const next = text[at + 1];
    out += text.slice(from, at) + (next === "\u0001" ? "\0" : "\u0001");
    from = at + (next === "\u0001" || next === "\u0002" ? 2 : 1);
  }
  return out + text.slice(from);
}

/** Reverses {@link toStoredText} in the texts of rows that were just read. */
export function withReadTexts(rows: SqlRow[]): SqlRow[] {
  for (const row of rows)
    for (const name in row) {
      const value = row[name];
      if (typeof value === "string" && value.includes("\u0001")) row[name] = fromStoredText(value);
    }
  return rows;
}
