/** The address of a page, as far as it is not its path. */
const AROUND_PATH = /^\w+:\/\/[^/]*|[?#].*$/gsu;
/** The ending of a file: most files of an instance may have the same. */
const ENDING = /(?<=.)\.\p{L}[\p{L}\p{N}]{0,9}$/u;
/** Names that say less than that of their folder. */
const INDEX = /^(?:index|readme|default)$/iu;

/**
 * Returns the text by which the name of an item is searched: the last part of its path or address, without its ending. Other
 * folders are left out, because most chunks might have their names; a filter finds them.
 */
export function nameWords(key: string): string {
  const path = key.includes("://") ? key.replaceAll(AROUND_PATH, "") : key;
  const parts = path.split("/").filter((part) => part !== "");
  const name = (parts.at(-1) ?? "").replace(ENDING, "");
  const telling = INDEX.test(name) ? (parts.at(-2) ?? name) : name;
  return decoded(telling).replaceAll(/[_\p{C}]+/gu, " ");
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
