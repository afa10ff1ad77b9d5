/** A formatting that is in force until it is closed. */
export type MarkKind = "strong" | "em" | "del" | "link" | "sup" | "sub";

/** The tags of emphasis where CommonMark would read delimiters as text: `「x」**` before a letter ends nothing. */
const tags: Readonly<Record<"strong" | "em" | "del", string>> = { strong: "b", em: "i", del: "s" };

/** The parts that are delimiters. Text never ends in one of their characters unless that is escaped. */
const emphases: ReadonlySet<string> = new Set(["**", "*", "_", "~~"]);

interface MarkPlace {
  readonly start: number;
  readonly end: number;
  readonly next: string;
}

/** Chooses the delimiter of an emphasis now that both of its surroundings are known, or takes it away. */
export function settleMark(parts: string[], kind: MarkKind, { start, end, next }: MarkPlace): void {
  if (kind === "link") return;
  if (kind === "sup" || kind === "sub") return settleTag(parts, start, end);
  const before = charBefore(parts, start);
  const inner = firstChar(parts, start, end);
  const innerEnd = charBefore(parts, end);
  const opens = !(isWord(before) && !isWord(inner));
  const closes = !(isWord(next) && !isWord(innerEnd));
  const delimiter = opens && closes ? delimiterOf(kind, before, next) : "";
  const isTag = delimiter === "" && isWorthTag(parts, start, end);
  parts[start] = isTag ? `<${tags[kind]}>` : delimiter;
  parts[end] = isTag ? `</${tags[kind]}>` : delimiter;
}

function delimiterOf(kind: "strong" | "em" | "del", before: string, next: string): string {
  if (kind === "em") return emphasis(before, next);
  const [char, both] = kind === "strong" ? ["*", "**"] : ["~", "~~"];
  return before === char || next === char ? "" : both;
}

/** Whether something in between is neither a delimiter that has gone nor a tag. */
function isWorthTag(parts: readonly string[], start: number, end: number): boolean {
  return parts.slice(start + 1, end).some((part) => part !== "" && !part.startsWith("<"));
}

/** Bold and italic around the same text: inside a word only one run of asterisks says it, `a***b***c`. */
export function settleBoth(parts: string[], start: number, end: number, next: string): void {
  const before = charBefore(parts, start);
  if (!(isWord(before) || isWord(next)) || before === "*" || next === "*") return;
  const opens = !isWord(before) || isWord(firstChar(parts, start + 1, end - 1));
  const closes = !isWord(next) || isWord(charBefore(parts, end - 1));
  if (!opens || !closes) return;
  parts[start] = parts[end] = "*";
  parts[start + 1] = parts[end - 1] = "**";
}

/** A note's number is a link and needs no tags around it. */
function settleTag(parts: string[], start: number, end: number): void {
  if (parts[start + 1] !== "[" || parts[end - 1]?.startsWith("](") !== true) return;
  parts[start] = "";
  parts[end] = "";
}

function emphasis(before: string, next: string): string {
  // An underscore inside a word is text; an asterisk beside another one belongs to a longer run.
  if (!isWord(before) && !isWord(next) && before !== "_" && next !== "_") return "_";
  return before === "*" || next === "*" ? "" : "*";
}

export function charBefore(parts: readonly string[], index: number): string {
  for (let i = index - 1; i >= 0; i--) {
    const part = parts[i] ?? "";
    if (part !== "") return emphases.has(part) ? lastChar(part) : afterText(lastChar(part));
  }
  return "";
}

/** At its end, text has these characters escaped: they do not belong to a delimiter that follows. */
function afterText(char: string): string {
  return char === "*" || char === "_" || char === "~" ? "\\" : char;
}

function firstChar(parts: readonly string[], start: number, end: number): string {
  for (let i = start + 1; i < end; i++) {
    const part = parts[i] ?? "";
    if (part !== "") return String.fromCodePoint(part.codePointAt(0) ?? 32);
  }
  return "";
}

function lastChar(part: string): string {
  const low = part.charCodeAt(part.length - 1);
  return low >= 0xdc00 && low <= 0xdfff ? part.slice(-2) : (part.at(-1) ?? "");
}

/** Neither white space nor punctuation, in CommonMark's sense. */
function isWord(char: string): boolean {
  return char !== "" && !/[\s\p{P}\p{S}]/u.test(char);
}
