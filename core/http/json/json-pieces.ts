/** A value of which there is the JSON already: it is written as it is. */
export class JsonText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Characters that are written at a time: about a millisecond of work. */
export const PIECE: number = 512 * 1024;

/** Objects in objects whose members are written one by one. */
const LEVELS = 3;

/** Writes a value as JSON, as `JSON.stringify` does, in pieces: long texts are cut, in the value and in its objects. */
export function* jsonPieces(
  value: unknown,
  levels: number = LEVELS,
): Generator<string, void, void> {
  if (value instanceof JsonText) return yield* cutText(value.text);
  if (typeof value === "string" && value.length > PIECE) return yield* longString(value);
  if (levels === 0 || typeof value !== "object" || value === null || Array.isArray(value))
    return yield JSON.stringify(value) ?? "null";
  let separator = "{";
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined) continue;
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ",";
    yield* jsonPieces(member, levels - 1);
  }
  yield separator === "{" ? "{}" : "}";
}

function* longString(text: string): Generator<string, void, void> {
  yield '"';
  for (const part of cutText(text)) yield JSON.stringify(part).slice(1, -1);
  yield '"';
}

/** The text in parts, none of which ends within a pair of surrogates. */
export function* cutText(text: string): Generator<string, void, void> {
  for (let at = 0; at < text.length;) {
    const last = text.charCodeAt(at + PIECE - 1);
    const end = at + PIECE - (last >= 0xd800 && last < 0xdc00 ? 1 : 0);
    yield text.slice(at, end);
    at = end;
  }
}
