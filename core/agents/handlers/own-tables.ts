const NAME = String.raw`("(?:[^"]|"")+"|[\w$]+)`;
const CREATE = new RegExp(
  String.raw`^CREATE\s+(?:VIRTUAL\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?${NAME}`,
  "i",
);
const DROP = new RegExp(String.raw`^DROP\s+TABLE\s+(?:IF\s+EXISTS\s+)?${NAME}`, "i");
const RENAME = new RegExp(String.raw`^ALTER\s+TABLE\s+${NAME}\s+RENAME\s+TO\s+${NAME}`, "i");
const GAIN = new RegExp(String.raw`^ALTER\s+TABLE\s+${NAME}\s+ADD\s+(?:COLUMN\s+)?"?actor\b`, "i");
const LOSE = new RegExp(
  String.raw`^ALTER\s+TABLE\s+${NAME}\s+(?:DROP|RENAME)\s+(?:COLUMN\s+)?"?actor\b`,
  "i",
);

/**
 * The tables that a definition's schema steps leave behind and that have an `actor` column: those hold rows of single
 * instances. A table without one belongs to all instances.
 */
export function ownTables(steps: readonly string[]): readonly string[] {
  // By the name without quotes and case: how it was written, and whether it has the column.
  const tables = new Map<string, { readonly name: string; readonly isOwn: boolean }>();
  const set = (name: string, isOwn: boolean): void => void tables.set(keyOf(name), { name, isOwn });
  for (const statement of steps.flatMap(statementsOf)) {
    const [, created] = CREATE.exec(statement) ?? [];
    const [, dropped] = DROP.exec(statement) ?? [];
    const [, old, renamed] = RENAME.exec(statement) ?? [];
    const [, gained] = GAIN.exec(statement) ?? [];
    const [, lost] = LOSE.exec(statement) ?? [];
    if (created !== undefined) {
      const isKnown = tables.has(keyOf(created));
      if (!isKnown) set(created, /\bactor\b/i.test(statement.slice(statement.indexOf(created))));
    } else if (dropped !== undefined) tables.delete(keyOf(dropped));
    else if (old !== undefined && renamed !== undefined) {
      set(renamed, tables.get(keyOf(old))?.isOwn === true);
      tables.delete(keyOf(old));
    } else if (gained !== undefined) set(gained, true);
    else if (lost !== undefined) set(lost, false);
  }
  return [...tables.values()].filter(({ isOwn }) => isOwn).map(({ name }) => name);
}

function keyOf(name: string): string {
  return name.replace(/^"(.*)"$/s, "$1").toLowerCase();
}

/** The statements of a step, without comments and texts. The body of a trigger does not matter here. */
function statementsOf(step: string): string[] {
  const bare = step.replaceAll(/'(?:[^']|'')*'|--[^\n]*|\/\*[\s\S]*?\*\//g, " ");
  return bare.split(";").map((statement) => statement.trim());
}
