/**
 * Answers to questions that were asked before in other words.
 *
 * @module
 */
import { invalidOptions } from "../../http/api-error.ts";
import { cacheKey } from "../cache/exact/cache-key.ts";
import type { SemanticCacheFactory } from "../cache/similar-answers.ts";
import { exactTerms } from "./exact-terms.ts";
import { knownQuestions } from "./known-questions.ts";
import { questionOf } from "./question.ts";
import { type Embed, questionVectors } from "./question-vector.ts";

export type { SemanticCacheFactory } from "../cache/similar-answers.ts";

/** Options of {@link semanticCache}. */
export interface SemanticCacheOptions {
  /** Turns texts into vectors; it sees the last message of a conversation. If it fails, the request is a miss. */
  readonly embed: Embed;
  /** The lowest cosine, 0 to 1, at which two questions are alike. @default 0.97 */
  readonly threshold?: number | undefined;
  /** Questions that this process remembers for comparison; 1 to 10,000. @default 1000 */
  readonly maxEntries?: number | undefined;
  /** Longest message that is compared, in characters; 1 to 10,000. @default 1000 */
  readonly maxTextLength?: number | undefined;
  /** Longest conversation whose last message is compared, in messages, system prompts included. @default 4 */
  readonly maxMessages?: number | undefined;
  /** Milliseconds that a request waits for its vector; 1 to 60,000. @default 500 */
  readonly timeoutMs?: number | undefined;
}

/**
 * Answers a question from the gateway's cache if it was asked before in other words. Throws `invalid_options` for an option
 * out of its range.
 *
 * @example
 * ```ts
 * import { gateway } from "causey/gateway";
 * import { semanticCache } from "causey/gateway/semantic-cache";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const embed = (texts: readonly string[]) =>
 *   Promise.resolve(texts.map((text) => Float32Array.of(text.length, 1)));
 * const app = gateway({ platform, semanticCache: semanticCache({ embed }) });
 * ```
 */
export function semanticCache(options: SemanticCacheOptions): SemanticCacheFactory {
  const { embed, maxTextLength = 1000, maxMessages = 4 } = options;
  const { threshold = 0.97, maxEntries = 1000, timeoutMs = 500 } = options;
  checkRange("threshold", threshold, 0, 1);
  checkRange("maxEntries", maxEntries, 1, 10_000);
  checkRange("maxTextLength", maxTextLength, 1, 10_000);
  checkRange("maxMessages", maxMessages, 1, 1000);
  checkRange("timeoutMs", timeoutMs, 1, 60_000);
  return (replies, { system, log }) => {
    const vectorOf = questionVectors({ embed, timeoutMs, system, log });
    const known = knownQuestions(maxEntries, threshold, system);
    return {
      async find(run, key, ttl) {
        const { prepared, call } = run;
        const { controls, signal } = call;
        // A client that sets a cache key decides itself which questions are the same.
        if (controls.semanticCache === false || controls.cacheKey !== undefined) return null;
        const question = questionOf(prepared.request, { maxTextLength, maxMessages });
        if (question === null) return null;
        const rest = { ...prepared, request: { ...prepared.request, body: question.rest } };
        const scope = await cacheKey({ ...run, prepared: rest }, system);
        const vector = await vectorOf(question.text, signal);
        if (scope === null || vector === null) return null;
        const terms = exactTerms(question.text);
        const found = known.nearest({ scope, vector, terms }, (other) => replies.kept(other));
        // Only answers to the very question are kept: likeness handed on and on would lead away from it.
        if (found === null)
          known.put({ key, scope, vector, terms, expiresAt: system.monotonic() + ttl * 1000 });
        return found;
      },
    };
  };
}

function checkRange(name: string, value: number, minimum: number, maximum: number): void {
  if (value >= minimum && value <= maximum) return;
  throw invalidOptions(
    `semanticCache.${name}: expected a number from ${minimum} to ${maximum}, got ${value}`,
  );
}
