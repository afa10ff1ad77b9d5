import type { Platform } from "../../ports.ts";
import type { CachedReply } from "../wire/cached-reply.ts";
import type { CacheableRun } from "./exact/cache-key.ts";
import type { ReplyCache } from "./exact/reply-cache.ts";

/** A kept answer to a question like the one that was asked. */
export interface SimilarAnswer {
  readonly reply: CachedReply;
  /** Cosine of the two questions. */
  readonly similarity: number;
}

/** Finds answers to questions in other words. */
export interface SemanticCache {
  /**
   * Finds the answer to a similar question whose request differs in nothing but the text of the last message. Null without
   * one; once this request's own answer is cached under `key` (for `ttl` seconds), it will be found. Never rejects.
   */
  find(run: CacheableRun, key: string, ttl: number): Promise<SimilarAnswer | null>;
}

/** Makes a semantic cache over the answers of an exact one; `semanticCache()` of `causey/gateway/semantic-cache` returns it. */
export type SemanticCacheFactory = (
  replies: Pick<ReplyCache, "kept">,
  platform: Pick<Platform, "system" | "log">,
) => SemanticCache;
