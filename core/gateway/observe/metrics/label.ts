import { secret } from "../../guard/detect/secrets.ts";
import { NO_MODEL, OTHER } from "./series.ts";

/** Characters of a label. */
const LONGEST = 128;

/** Texts whose labels are remembered. */
const REMEMBERED = 1000;

/** Visible text and spaces: nothing that a line, a terminal or a dashboard takes for more than text. */
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;

/**
 * Makes labels of what callers wrote: `none` for nothing, `other` for what is over 128 characters long, holds control
 * characters or looks like a credential.
 */
export function labels(): (text: string) => string {
  const known = new Map<string, string>();
  return (text) => {
    // Nor remembered: what callers write can be the beginning of a text of megabytes, which it keeps in memory.
    if (text.length > LONGEST) return OTHER;
    const found = known.get(text);
    if (found !== undefined) return found;
    const label = labelOf(text);
    if (known.size >= REMEMBERED) known.clear();
    known.set(text, label);
    return label;
  };
}

function labelOf(text: string): string {
  if (text === "") return NO_MODEL;
  return VISIBLE.test(text) && secret.count(text) === 0 ? text : OTHER;
}
