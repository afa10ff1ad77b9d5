/** What stands in a request in place of what was found, and what it stands for. */
export interface Placeholders {
  /** How many values of each type were replaced. */
  readonly counts: ReadonlyMap<string, number>;
  /** Returns what stands for a value: the same for the same. Null once there are too many. */
  of(type: string, value: string): string | null;
  /** Returns the text with the values in place of their placeholders. */
  restored(text: string): string;
  /** Whether a text is the beginning of a placeholder, and not all of it. */
  isBegun(text: string): boolean;
  /** Returns the placeholder at the start of a text; null without one. */
  leading(text: string): string | null;
}

/** Values of one request. */
const MOST = 10_000;

const placeholder = /\[[A-Z][A-Z_]{0,30}_\d{1,5}\]/g;
const first = /^\[[A-Z][A-Z_]{0,30}_\d{1,5}\]/;

/** The end of a text that may go on as a placeholder. */
export const begun: RegExp = /\[[A-Z\d_]{0,40}$/;

/** Begins with none. */
export function placeholders(): Placeholders {
  const values = new Map<string, string>();
  const names = new Map<string, string>();
  const beginnings = new Set<string>();
  const counts = new Map<string, number>();
  return {
    counts,
    of(type, value) {
      const key = `${type}\n${value}`;
      const known = names.get(key);
      if (known !== undefined) return known;
      if (values.size >= MOST) return null;
      const count = (counts.get(type) ?? 0) + 1;
      counts.set(type, count);
      const name = `[${type.toUpperCase()}_${count}]`;
      names.set(key, name);
      values.set(name, value);
      for (let end = 1; end < name.length; end++) beginnings.add(name.slice(0, end));
      return name;
    },
    restored: (text) =>
      text.includes("[") ? text.replaceAll(placeholder, (name) => values.get(name) ?? name) : text,
    isBegun: (text) => beginnings.has(text),
    leading(text) {
      const name = first.exec(text)?.[0];
      return name !== undefined && values.has(name) ? name : null;
    },
  };
}
