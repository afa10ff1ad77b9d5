import { jsonTexts, type TextPlace, type TextReading } from "./json-texts.ts";
import { isDue, type Slices, STEP, type WorkMeter } from "./slices.ts";

/** Collects the texts of JSON documents by their place; pieces of one place are joined, as the deltas of a stream are. */
export interface TextCollector {
  /** Takes the texts of a document; returns whether it is JSON. */
  collect(json: string): Slices<boolean>;
  /** Takes a text other than JSON. */
  add(text: string): void;
  /**
   * All texts, each on lines of its own, and `body` behind them where a document of it was nested too deeply. First what
   * people and models say, in its order. A model reads messages and their parts one after the other, so nothing may
   * stand between them here.
   */
  text(body: string): Slices<string>;
  /** The path of the first member that a document had twice. */
  duplicate(): string | null;
}

/** Makes a {@link TextCollector}. */
export function textCollector(reading: TextReading, counted: WorkMeter): TextCollector {
  const said = new Map<number, string[]>();
  const others = new Map<number, string[]>();
  const numbers = new Map<string, number>();
  let duplicate: string | null = null;
  let isDeep = false;
  const numberOf = (place: TextPlace | null): number => {
    if (place === null) return 0;
    return (place.number ??= newNumber(place));
  };
  const newNumber = ({ within, name, marks }: TextPlace): number => {
    const marked = marks?.join("&") ?? "";
    if (within === null && marked === "") return 0;
    const label = marked === "" ? name : within === null ? marked : `[${marked}]`;
    const key = `${numberOf(within)}.${label}`;
    const number = numbers.get(key) ?? numbers.size + 1;
    numbers.set(key, number);
    return number;
  };
  const put = (into: Map<number, string[]>, number: number, text: string): void => {
    const pieces = into.get(number);
    if (pieces === undefined) into.set(number, [text]);
    else pieces.push(text);
  };
  return {
    add: (text) => put(said, 0, text),
    *collect(json) {
      const found = yield* jsonTexts(json, reading, counted);
      if (found === null) return false;
      duplicate ??= found.duplicate;
      isDeep ||= found.isDeep;
      for (const { text, place } of found.texts) {
        if (isDue(counted, STEP)) yield;
        if (place.isInPart || !place.message.hasParts)
          put(place.isSpoken ? said : others, numberOf(place), text);
      }
      return true;
    },
    *text(body) {
      const texts = yield* linesOf([...said.values(), ...others.values()], counted);
      return isDeep ? `${texts}\n${body}` : texts;
    },
    duplicate: () => duplicate,
  };
}

function* linesOf(texts: readonly (readonly string[])[], counted: WorkMeter): Slices<string> {
  const blocks: string[] = [];
  let block: string[] = [];
  for (const pieces of texts) {
    block.push(yield* joined(pieces, counted));
    if (!isDue(counted, STEP)) continue;
    blocks.push(block.join("\n"));
    block = [];
    yield;
  }
  return (block.length === 0 ? blocks : [...blocks, block.join("\n")]).join("\n");
}

/** Pieces that are joined in one go. */
const PIECES = 4096;

function* joined(pieces: readonly string[], counted: WorkMeter): Slices<string> {
  if (pieces.length <= PIECES) return pieces.join("");
  const blocks: string[] = [];
  for (let at = 0; at < pieces.length; at += PIECES) {
    blocks.push(pieces.slice(at, at + PIECES).join(""));
    if (isDue(counted, PIECES * STEP)) yield;
  }
  return blocks.join("");
}
