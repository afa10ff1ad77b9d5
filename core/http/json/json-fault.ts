/** A token of JSON (RFC 8259) after white space: a sign, a string, or another value. */
const TOKEN =
  /[\t\n\r ]*(?:([{}[\]:,])|("(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*")|(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-]))/y;

/** Characters that are looked through: a few milliseconds. */
const LIMIT = 64 * 1024;

type Wanted = "value" | "element" | "name" | "member" | "colon" | "more" | "end";

const words: Readonly<Record<Wanted, (closing: string) => string>> = {
  value: () => "a value",
  element: () => 'a value or "]"',
  name: () => "a name in double quotes",
  member: () => 'a name in double quotes or "}"',
  colon: () => '":"',
  more: (closing) => `"," or "${closing}"`,
  end: () => "nothing more",
};

/**
 * Says where a text stops being JSON and what is expected there; null for JSON, and for a text that is too long to be looked
 * through. Engines say neither alike, and some no place.
 */
export function jsonFault(text: string): string | null {
  if (text.length > LIMIT) return null;
  const open: string[] = [];
  let wanted: Wanted = "value";
  const token = new RegExp(TOKEN);
  for (let at = 0; ; at = token.lastIndex) {
    token.lastIndex = at;
    const match = token.exec(text);
    if (match === null) {
      const start = at + (/^[\t\n\r ]*/u.exec(text.slice(at))?.[0].length ?? 0);
      if (start === text.length && wanted === "end") return null;
      if (text[start] === '"')
        return `${placeOf(text, start)}: this string does not end, or has a character that needs an escape`;
      return `${placeOf(text, start)}: expected ${words[wanted](open.at(-1) ?? "")}`;
    }
    const [whole, sign, name] = match;
    const next = after(wanted, sign ?? (name === undefined ? "value" : "name"), open);
    if (next === null) {
      const start = at + whole.length - whole.trimStart().length;
      return `${placeOf(text, start)}: expected ${words[wanted](open.at(-1) ?? "")}`;
    }
    wanted = next;
  }
}

/** The states in which a list or an object may end. */
const mayEnd: ReadonlySet<Wanted> = new Set(["more", "element", "member"]);

/** Returns the state after a token; null where the token may not stand. Opens and closes lists and objects. */
function after(wanted: Wanted, token: string, open: string[]): Wanted | null {
  const closing = open.at(-1);
  if (token === closing && mayEnd.has(wanted)) {
    open.pop();
    return open.length === 0 ? "end" : "more";
  }
  if (wanted === "more") return token !== "," ? null : closing === "}" ? "name" : "value";
  if (wanted === "colon") return token === ":" ? "value" : null;
  if (wanted === "name" || wanted === "member") return token === "name" ? "colon" : null;
  return wanted === "end" ? null : afterValue(token, open);
}

/** {@link after} where a value is wanted, which a name is too. */
function afterValue(token: string, open: string[]): Wanted | null {
  if (token === "name" || token === "value") return open.length === 0 ? "end" : "more";
  if (token !== "{" && token !== "[") return null;
  open.push(token === "{" ? "}" : "]");
  return token === "{" ? "member" : "element";
}

function placeOf(text: string, at: number): string {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  const column = at - before.lastIndexOf("\n");
  return at === text.length ? "the text ends too early" : `line ${line}, column ${column}`;
}
