import type { Source } from "./scheme.ts";

/** The text at a dotted path of parsed JSON; numbers count as text, anything else (or nothing) is null. */
export function textAt(value: unknown, path: string): string | null {
  let at: unknown = value;
  for (const key of path.split(".")) {
    // Own members only: a path never walks a prototype.
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return null;
    at = (at as Record<string, unknown>)[key];
  }
  if (typeof at === "string") return at;
  if (typeof at === "number" && Number.isFinite(at)) return String(at);
  return null;
}

/** The first non-empty text among sources of a request's headers and parsed body. */
export function firstText(
  sources: readonly Source[] | undefined,
  headers: Headers,
  payload: unknown,
): string | null {
  for (const source of sources ?? []) {
    const name = source.slice(source.indexOf(":") + 1);
    const text = source.startsWith("header:") ? headers.get(name) : textAt(payload, name);
    if (text !== null && text !== "") return text;
  }
  return null;
}
