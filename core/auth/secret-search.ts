import { constantTimeEqual } from "../crypto/equal.ts";
import { utf8 } from "../crypto/encoding.ts";

/** Whether a text contains one of the secrets as a word of its own. */
export type SecretSearch = (text: string) => boolean;

interface Pattern {
  readonly bytes: Uint8Array;
  readonly length: number;
  /** The hash that a window of the text has to have. */
  readonly hash: number;
  /** The weight of the character that leaves the window. */
  readonly weight: number;
}

/**
 * Prepares a search for secrets by rolling hashes with a random base (Karp and Rabin, 1987). It is linear in the text,
 * and its time does not reveal how much of a secret a text contains. `random` is called on first use.
 */
export function secretSearch(
  secrets: readonly string[],
  random: (length: number) => Uint8Array,
): SecretSearch {
  if (secrets.length === 0) return () => false;
  const shortest = Math.min(...secrets.map(({ length }) => length));
  let base = 0;
  let patterns: readonly Pattern[] = [];
  return (text) => {
    if (text.length < shortest) return false;
    if (base === 0) {
      base = new DataView(new Uint8Array(random(4)).buffer).getUint32(0) | 1;
      patterns = secrets.map((secret) => patternOf(secret, base));
    }
    let found = false;
    for (const pattern of patterns) found = contains(text, pattern, base) || found;
    return found;
  };
}

function patternOf(secret: string, base: number): Pattern {
  let weight = 1;
  for (let i = 1; i < secret.length; i++) weight = Math.imul(weight, base);
  return {
    bytes: utf8(secret),
    length: secret.length,
    hash: hashOf(secret, secret.length, base),
    weight,
  };
}

function hashOf(text: string, length: number, base: number): number {
  let hash = 0;
  for (let i = 0; i < length; i++) hash = (Math.imul(hash, base) + text.charCodeAt(i)) | 0;
  return hash;
}

function contains(text: string, { bytes, length, hash, weight }: Pattern, base: number): boolean {
  if (text.length < length) return false;
  let window = hashOf(text, length, base);
  for (let end = length; ; end++) {
    if (window === hash && isWord(text, end - length, end)) {
      if (constantTimeEqual(utf8(text.slice(end - length, end)), bytes)) return true;
    }
    if (end === text.length) return false;
    const rest = (window - Math.imul(text.charCodeAt(end - length), weight)) | 0;
    window = (Math.imul(rest, base) + text.charCodeAt(end)) | 0;
  }
}

/** A short secret within a longer word is a coincidence. */
function isWord(text: string, start: number, end: number): boolean {
  return !/[\w-]/.test(text.charAt(start - 1)) && !/[\w-]/.test(text.charAt(end));
}
