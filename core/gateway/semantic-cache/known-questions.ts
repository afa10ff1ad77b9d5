import type { System } from "../../ports.ts";

/** A question whose answer may be in the cache. */
export interface KnownQuestion {
  /** The key of its answer in the exact cache. */
  readonly key: string;
  /** Everything but the text: only questions of one scope are compared. */
  readonly scope: string;
  /** The vector of the question, of length 1. */
  readonly vector: Float32Array;
  /** Numbers and negations, which must be the same. */
  readonly terms: string;
  /** Unix ms. */
  readonly expiresAt: number;
}

interface NearestQuestion<T> {
  readonly reply: T;
  /** Cosine. */
  readonly similarity: number;
}

/** Questions by scope; the least recently used go first. */
export interface KnownQuestions {
  put(question: KnownQuestion): void;
  /** The nearest question near enough, among those for which `answerOf` has an answer. */
  nearest<T>(
    question: Pick<KnownQuestion, "scope" | "vector" | "terms">,
    answerOf: (key: string) => T | null,
  ): NearestQuestion<T> | null;
}

/** At most `maxEntries` questions, of which two are alike from `threshold` (cosine) on. */
export function knownQuestions(
  maxEntries: number,
  threshold: number,
  system: System,
): KnownQuestions {
  // A Map keeps the order of insertion, so its first key is the least recently used one.
  const all = new Map<string, KnownQuestion>();
  const scopes = new Map<string, Set<KnownQuestion>>();
  const drop = (question: KnownQuestion): void => {
    all.delete(question.key);
    const others = scopes.get(question.scope);
    others?.delete(question);
    if (others?.size === 0) scopes.delete(question.scope);
  };
  const put = (question: KnownQuestion): void => {
    const old = all.get(question.key);
    if (old !== undefined) drop(old);
    all.set(question.key, question);
    const others = scopes.get(question.scope);
    if (others === undefined) scopes.set(question.scope, new Set([question]));
    else others.add(question);
    for (const oldest of all.values()) {
      if (all.size <= maxEntries) break;
      drop(oldest);
    }
  };
  return {
    put,
    nearest<T>(
      question: Pick<KnownQuestion, "scope" | "vector" | "terms">,
      answerOf: (key: string) => T | null,
    ): NearestQuestion<T> | null {
      const now = system.monotonic();
      let best: KnownQuestion | null = null;
      let found: NearestQuestion<T> | null = null;
      for (const known of scopes.get(question.scope) ?? []) {
        if (known.expiresAt <= now) drop(known);
        if (known.expiresAt <= now || known.terms !== question.terms) continue;
        const similarity = cosine(question.vector, known.vector);
        if (similarity < threshold || similarity <= (found?.similarity ?? -1)) continue;
        const reply = answerOf(known.key);
        if (reply === null) continue;
        best = known;
        found = { reply, similarity };
      }
      if (best !== null) put(best);
      return found;
    },
  };
}

/** Returns the cosine of two vectors of length 1; -1 when they are of different models. */
function cosine(a: Float32Array, b: Float32Array): number {
  if (a.length !== b.length) return -1;
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return Math.min(1, sum);
}
