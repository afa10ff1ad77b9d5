import * as v from "valibot";

/** How a word that the instance does not know is taken for one that it knows. Names as in Meilisearch. */
export interface TypoTolerance {
  /** @default true */
  readonly enabled?: boolean | undefined;
  /** Letters from which a word may have one or two typing errors. @default 5 and 9 */
  readonly min_word_size_for_typos?:
    | { readonly one_typo?: number | undefined; readonly two_typos?: number | undefined }
    | undefined;
  /** Words that are taken as they are. */
  readonly disable_on_words?: readonly string[] | undefined;
}

/** Letters from which a word may have one or two typing errors, unless settings say otherwise. */
const ONE_TYPO = 5;
const TWO_TYPOS = 9;

const size = v.optional(v.pipe(v.number(), v.integer(), v.minValue(2), v.maxValue(64)));

/** `typo_tolerance` of an instance or of a request. */
export const typoTolerance: v.GenericSchema<unknown, TypoTolerance> = v.strictObject(
  {
    enabled: v.optional(v.boolean()),
    min_word_size_for_typos: v.optional(
      v.pipe(
        v.strictObject({ one_typo: size, two_typos: size }, "Unknown option"),
        v.check(
          (sizes) => (sizes.one_typo ?? ONE_TYPO) <= (sizes.two_typos ?? TWO_TYPOS),
          "expected one_typo to be at most two_typos",
        ),
      ),
    ),
    disable_on_words: v.optional(
      v.pipe(v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(64))), v.maxLength(100)),
    ),
  },
  "Unknown option",
);

/** Typing errors that a word of some length may have: 0, 1 or 2. */
export function typosAllowed(length: number, tolerance: TypoTolerance): number {
  const { one_typo: one = ONE_TYPO, two_typos: two = TWO_TYPOS } =
    tolerance.min_word_size_for_typos ?? {};
  return length >= two ? 2 : length >= one ? 1 : 0;
}
