/**
 * The condition that a column holds a bound text, letter case ignored; the text must not be empty. Not by LIKE: its
 * patterns are bounded, on Durable Objects to 50 bytes, and end at a NUL.
 */
export function contains(column: string): string {
  return `(REPLACE(LOWER(${column}), LOWER(?), '') <> LOWER(${column}))`;
}

/** Conditions joined as a balanced tree: the depth of an expression is bounded, on Durable Objects to 100. */
export function joined(conditions: readonly string[], by: "AND" | "OR"): string {
  if (conditions.length <= 4) return conditions.join(` ${by} `);
  const half = conditions.length >> 1;
  return `(${joined(conditions.slice(0, half), by)}) ${by} (${joined(conditions.slice(half), by)})`;
}
