/** What stands in a request in place of what was found, and what it stands for. */
export interface Placeholders {
  /** How many values of each type were replaced. */
  readonly counts: ReadonlyMap<string, number>;
  /** Takes no placeholder of these types that a text has itself: it stands for nothing else there. */
  avoid(text: string, types: ReadonlySet<string>): void;
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

/** Above it, a number is part of no placeholder. */
const HIGHEST = 99_999;

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
  const avoided = new Set<string>();
  const last = new Map<string, number>();
  const nextName = (type: string): string | null => {
    let number = last.get(type) ?? 0;
    for (;;) {
      number++;
      if (number > HIGHEST) return null;
      const name = `[${type.toUpperCase()}_${number}]`;
      if (avoided.has(name)) continue;
      last.set(type, number);
      return name;
    }
  };
  return {
    counts,
    avoid(text, types) {
      const own = new Set(Array.from(types, (type) => type.toUpperCase()));
      for (const [name] of text.matchAll(placeholder))
        if (own.has(name.slice(1, name.lastIndexOf("_")))) avoided.add(name);
    },
    of(type, value) {
      const key = `${type}\n${value}`;
      const known = names.get(key);
      if (known !== undefined) return known;
      if (values.size >= MOST) return null;
      const name = nextName(type);
      if (name === null) return null;
      counts.set(type, (counts.get(type) ?? 0) + 1);
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
