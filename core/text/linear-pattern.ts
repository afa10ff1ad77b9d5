import { RE2JS, RE2Set } from "re2js";

/** Instructions of all patterns of one caller: each character of a text can take as many steps. */
const INSTRUCTIONS = 5000;
/** Instructions of one pattern: nothing interrupts its match. */
const OF_ONE = 1500;
/** Parts of all patterns of one caller: what counts repeat is written out before there are instructions. */
const REPEATED = 20_000;
/** Characters of one pattern. */
const LENGTH = 1000;
/** Bytes of a pattern's automaton, which is far faster than its instructions where they lead to few states. */
const AUTOMATON = 65_536;

/** A pattern of a caller's. */
export interface LinearPattern {
  /** Whether it matches any part of a text. */
  find(text: string): boolean;
  /** Its instructions: the most steps that a character of a text takes, each some ten ns. */
  readonly size: number;
}

/** Compiles the patterns of one caller, whose work together is bounded. */
export interface LinearPatterns {
  /**
   * Compiles a pattern of the caller's with flags of JavaScript (`i`, `m`, `s`; others are ignored). It takes time that grows
   * with the text alone. Throws `TypeError` for a pattern that is not supported, too long or too large.
   */
  compile(source: string, flags?: string): LinearPattern;
}

/** Begins with the patterns of one caller. */
export function linearPatterns(): LinearPatterns {
  const left = { instructions: INSTRUCTIONS, repeated: REPEATED };
  return {
    compile(source, flags = "") {
      if (source.length > LENGTH) throw new TypeError(`it has more than ${LENGTH} characters`);
      left.repeated -= partsOf(source);
      if (left.repeated < 0) throw tooLarge();
      const compiled = compile(source, modeOf(flags));
      const size = compiled.prog.numInst();
      if (size > OF_ONE)
        throw new TypeError(
          `it takes ${size} steps a character, and at most ${OF_ONE} are allowed`,
        );
      left.instructions -= size;
      if (left.instructions < 0) throw tooLarge();
      return { size, find: (text) => compiled.match(text).length > 0 };
    },
  };
}

/** A set of one: other than a single pattern it takes a bound for its automaton, which is 8 MiB by default. */
function compile(source: string, mode: number): RE2Set {
  try {
    const compiled = new RE2Set(RE2Set.UNANCHORED, mode, AUTOMATON);
    compiled.add(RE2JS.translateRegExp(source));
    compiled.compile();
    return compiled;
  } catch (error) {
    throw new TypeError("it is not supported", { cause: error });
  }
}

function modeOf(flags: string): number {
  let mode = 0;
  if (flags.includes("i")) mode |= RE2JS.CASE_INSENSITIVE;
  if (flags.includes("m")) mode |= RE2JS.MULTILINE;
  if (flags.includes("s")) mode |= RE2JS.DOTALL;
  return mode;
}

/**
 * Bounds the parts of a pattern whose counts are written out from above, without reading how it nests: a count of a group
 * (or after `\E`, which matches nothing itself) may repeat all that is there, any other one a single part.
 */
function partsOf(source: string): number {
  let parts = source.length;
  let times = 1;
  let end = 0;
  for (const found of source.matchAll(/\{(\d{1,9})(?:,(\d{1,9})?)?\}/g)) {
    const [{ length }, least = "0", most] = found;
    const count = Math.max(Number(least), Number(most ?? 0));
    if (")E".includes(source[found.index - 1] ?? ")") || found.index === end)
      times *= Math.max(1, count);
    else parts += count;
    end = found.index + length;
  }
  return parts * times;
}

function tooLarge(): TypeError {
  return new TypeError("it repeats too much, together with the others");
}
