import { nearest } from "./nearest.ts";

/** Characters of a path for which a hint is looked for. */
const LIMIT = 200;

/**
 * Says what is wrong with the path of no route: an empty part, a slash at its end, or one misspelt part of a route.
 *
 * @param templates the routes, with `:name` for a part that may be anything; a path may have others in front
 */
export function pathHint(path: string, templates: readonly string[]): string {
  if (path.length > LIMIT || path === "/") return "";
  if (path.includes("//")) return ': it has an empty part ("//")';
  if (path.endsWith("/")) return ': leave the "/" at its end out';
  const parts = path.slice(1).split("/");
  for (const template of templates) {
    // A base URL that lacks its first part, such as "/v1".
    if (!template.includes(":") && template.endsWith(path)) return meantPath(template);
    const meant = corrected(parts, template.slice(1).split("/"));
    if (meant !== null) return meantPath(`/${meant.join("/")}`);
  }
  for (const template of templates) {
    const meant = completed(parts, template.slice(1).split("/"));
    if (meant !== null) return meantPath(`/${meant.join("/")}`);
  }
  return "";
}

/**
 * Returns the one of some whole paths that was meant by a path with slashes too many, a first part given twice, or one
 * misspelt part; null when none is near.
 */
export function nearPath(path: string, known: readonly string[]): string | null {
  if (path.length > LIMIT) return null;
  const parts = path.split("/").filter(Boolean);
  if (parts[0] === parts[1]) parts.shift();
  for (const one of known) {
    const words = one.slice(1).split("/");
    if (words.length !== parts.length) continue;
    if (words.every((word, at) => word === parts[at]) || corrected(parts, words) !== null)
      return one;
  }
  return null;
}

/** Offers a path at the end of a message. */
export function meantPath(path: string): string {
  return `: did you mean "${path}"?`;
}

/** A path with the one part that a template has otherwise; null when that is not one misspelling. */
function corrected(parts: readonly string[], template: readonly string[]): string[] | null {
  return withOnePart(parts, template, (given, word) => nearest(given, [word]));
}

/** A path whose last part is one word of a template's, such as `keys` of `virtual-keys`; null when it is not. */
function completed(parts: readonly string[], template: readonly string[]): string[] | null {
  const last = template.at(-1) ?? "";
  if (last.startsWith(":") || last === parts.at(-1)) return null;
  return withOnePart(parts, template, (given, word) =>
    word.split("-").includes(given) ? word : undefined,
  );
}

function withOnePart(
  parts: readonly string[],
  template: readonly string[],
  meant: (given: string, word: string) => string | undefined,
): string[] | null {
  const before = parts.length - template.length;
  if (before < 0) return null;
  const wrong = template.flatMap((word, at) =>
    word.startsWith(":") || word === parts[before + at] ? [] : [at],
  );
  const [at] = wrong;
  if (at === undefined || wrong.length > 1) return null;
  const word = template[at] ?? "";
  const found = meant(parts[before + at] ?? "", word);
  return found === undefined ? null : parts.with(before + at, found);
}
