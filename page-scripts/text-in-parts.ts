import type { PageFunctions } from "../core/rendering/page/scripts/page-functions.ts";

declare global {
  /** The text that is read in parts. */
  var causeyText: { readonly mark: number; readonly text: string } | undefined;
}

export const beginText: PageFunctions["beginText"] = (make, { limit, part, most }, args) => {
  const made = make(...args, { limit, most });
  if (typeof made === "number") return { length: 0, first: "", mark: 0, count: made };
  const { length } = made;
  if (typeof made !== "string" || length > limit) return { length, first: "", mark: 0 };
  const first = length > part ? cutText(made, 0, part) : made;
  const mark = (globalThis.causeyText?.mark ?? 0) + 1;
  globalThis.causeyText = first.length < length ? { mark, text: made } : undefined;
  return { length, first, mark };
};

export const restOfText: PageFunctions["restOfText"] = (mark, at, part) => {
  const kept = globalThis.causeyText;
  if (kept?.mark !== mark) return null;
  const next = cutText(kept.text, at, part);
  if (at + next.length === kept.text.length) globalThis.causeyText = undefined;
  return next;
};

/** A part of a text that cuts no pair of surrogates. */
function cutText(text: string, at: number, part: number): string {
  const end = at + part;
  const isInPair = end < text.length && /^[\ud800-\udbff]$/.test(text.charAt(end - 1));
  return text.slice(at, isInPair ? end - 1 : end);
}
