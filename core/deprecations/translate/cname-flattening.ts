/** The vocabulary of the old setting's values: as announced, or as the official SDK types them. */
export type FlatteningVocabulary = "announced" | "sdk";

/**
 * Old value to `flatten_all_cnames`; both vocabularies are understood, null when the value is neither's.
 *
 * @example
 * ```ts
 * import { toFlattenAllCnames } from "causey/deprecations";
 *
 * toFlattenAllCnames("flatten_at_root"); // → false
 * ```
 */
export function toFlattenAllCnames(value: unknown): boolean | null {
  switch (value) {
    case "on":
    case "flatten_all":
      return true;
    case "off":
    case "apex":
    case "flatten_at_root":
      return false;
    default:
      return null;
  }
}

/**
 * `flatten_all_cnames` to the old value. `apex` reads back as `off`: the two behave the same.
 *
 * @example
 * ```ts
 * import { fromFlattenAllCnames } from "causey/deprecations";
 *
 * fromFlattenAllCnames(true, "sdk"); // → "flatten_all"
 * ```
 */
export function fromFlattenAllCnames(
  flattenAll: boolean,
  vocabulary: FlatteningVocabulary = "announced",
): string {
  if (vocabulary === "sdk") return flattenAll ? "flatten_all" : "flatten_at_root";
  return flattenAll ? "on" : "off";
}
