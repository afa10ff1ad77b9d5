/** Places to cut code, from the best to the worst: before a declaration, at blank lines, at lines, between words. */
export const CODE_BOUNDARIES: readonly RegExp[] = [
  // An unindented line after a blank one; what closes a block belongs to it.
  /\n[^\S\n]*\n(?:[^\S\n]*\n)*(?=[^\s})\]])/g,
  /\n[^\S\n]*\n\s*/g,
  /\n/g,
  /\s+/g,
];

/** Names of files that hold code. */
const CODE =
  /\.(?:[cm]?[jt]sx?|py|rb|php|go|rs|java|kts?|scala|groovy|cs|fs|swift|dart|c|h|cc|cpp|cxx|hpp|hh|mm?|zig|nim|lua|pl|pm|r|jl|ex|exs|erl|hs|ml|clj|vue|svelte|sh|bash|zsh|ps1|sql|proto|graphql)$/i;

/** Whether a file is code, by its name. */
export function isCode(key: string): boolean {
  return CODE.test(key);
}

/** Characters of a line that may declare something, and of the name that is kept. */
const LINE = 200;
const NAME = 80;

const WORDS =
  "class|interface|type|enum|struct|union|trait|impl|module|namespace|object|record|protocol|extension|" +
  "function|func|fun|fn|def|defp|defmodule|sub|proc|procedure|method|message|service|" +
  String.raw`create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|index|trigger)`;
/** A line that names what it declares by a word, e.g. `export async function load(`. */
const KEYWORD = new RegExp(
  String.raw`^(?:(?:export|default|public|private|protected|internal|static|async|abstract|final|sealed|open|override|pub(?:\([a-z]*\))?|unsafe|extern|data|declare|local)\s+)*(?:${WORDS})\b\*?\s*(?:<[^>]*>\s*)?(?:\([^)]*\)\s*)?([\p{L}_$][\p{L}\p{N}_$.:]*)`,
  "iu",
);
/** The same of a function that is a constant, as JavaScript has it. */
const ARROW =
  /^(?:export\s+)?(?:const|let|var)\s+([\p{L}_$][\p{L}\p{N}_$]*)[^=]*=\s*(?:async\s*)?(?:\(|function\b)/u;
/** A method without a word: a name, parameters and the beginning of a body. */
const METHOD =
  /^(?:[\p{L}_$][\p{L}\p{N}_$<>[\],.?*&]*\s+){0,6}([\p{L}_$][\p{L}\p{N}_$]*)\s*\([^;{}]*\)[^;{}=]*\{\s*$/u;
const CONTROL = new Set(["if", "for", "while", "switch", "catch", "with", "return", "else", "do"]);

interface Declaration {
  readonly indent: number;
  readonly name: string;
}

/**
 * Returns a function that names the declarations around a place of a code file, outermost first, by their indentation.
 * Places come in ascending order.
 */
export function declarationsAt(text: string): (place: number) => string {
  const lines = text.matchAll(/[^\n]*(?:\n|$)/g);
  const open: Declaration[] = [];
  let next = lines.next();
  return (place) => {
    for (; next.done !== true && next.value.index < place; next = lines.next()) {
      const line = next.value[0];
      // A text ends in an empty match.
      if (line === "") break;
      take(open, line);
    }
    const indent = indentOf(text, place);
    return open
      .filter((one) => one.indent < indent)
      .map(({ name }) => name)
      .join(" > ");
  };
}

function take(open: Declaration[], line: string): void {
  const code = line.trim();
  if (code === "") return;
  const indent = line.length - line.trimStart().length;
  // A closing bracket does not end a block before its own declaration does.
  if (!/^[})\]]/u.test(code)) while ((open.at(-1)?.indent ?? -1) >= indent) open.pop();
  const name = code.length > LINE ? null : declaredName(code);
  if (name !== null) open.push({ indent, name });
}

function declaredName(code: string): string | null {
  const name = (KEYWORD.exec(code) ?? ARROW.exec(code))?.[1] ?? methodName(code);
  return name?.replace(/[:.]+$/u, "").slice(0, NAME) ?? null;
}

function methodName(code: string): string | null {
  const [, name = null] = METHOD.exec(code) ?? [];
  return name === null || CONTROL.has(name) || CONTROL.has(code.split(/\W/u)[0] ?? "")
    ? null
    : name;
}

/** Returns how far the line of a place is indented; chunks are trimmed, so it begins before them. */
function indentOf(text: string, place: number): number {
  const line = text.slice(text.lastIndexOf("\n", place - 1) + 1, place + LINE);
  return line.length - line.trimStart().length;
}
