/** A text that no logger prints: every way of making text of it says `[secret]`. */
export interface HiddenText {
  /** The text itself, for the one place that needs it. */
  reveal(): string;
  toString(): string;
  toJSON(): string;
}

const SHOWN = "[secret]";
const show = (): string => SHOWN;

/** Symbols of the methods that Node and Bun, and Deno, call to print an object. */
const inspectors = [Symbol.for("nodejs.util.inspect.custom"), Symbol.for("Deno.customInspect")];

/**
 * Wraps a secret. The text is in a closure, so that `JSON.stringify`, templates, `console.log` and object spread find
 * nothing of it.
 */
export function secret(text: string): HiddenText {
  const wrapped: HiddenText = { reveal: () => text, toString: show, toJSON: show };
  for (const symbol of inspectors)
    Object.defineProperty(wrapped, symbol, { value: show, enumerable: false });
  return Object.freeze(wrapped);
}
