import type { ChatFormat } from "../../chat/chat-body.ts";
import type { Price } from "../../prices/price.ts";
import type { Ability } from "../../chat/conversation.ts";

/** A model that the automatic router may choose. */
export interface RouterCandidate {
  /** As REST inference takes it: `{author or provider}/{model}`, or a Workers AI model (`@cf/…`). */
  readonly model: string;
  /** US dollars per million tokens. @default the table of published list prices */
  readonly price?: Price | undefined;
  /** Tokens of its window: input, and the output that a request asks for. @default no limit */
  readonly contextTokens?: number | undefined;
  /** The abilities that the model lacks. @default nothing */
  readonly lacks?: readonly Ability[] | undefined;
}

/**
 * The automatic router, which answers for the model `cloudflare/auto`. It chooses
 * among its candidates those that are allowed and able; the cheapest of them comes first unless `choose` says otherwise.
 */
export interface ModelRouter {
  /** 1 to 64 models, of which the earlier one wins at the same price. */
  readonly candidates: readonly RouterCandidate[];
  /**
   * Orders the eligible models. Not called for a pinned turn, a single eligible model, or a request without text. Its
   * errors are logged and never shown to clients. @default the cheapest first
   */
  readonly choose?:
    | ((request: RouteRequest, signal: AbortSignal) => RouteChoice | Promise<RouteChoice>)
    | undefined;
  /** Milliseconds for `choose`; its signal is then aborted. @default 2000 */
  readonly timeoutMs?: number | undefined;
  /**
   * The fallback when `choose` fails, takes too long, or names a model that is not eligible: the cheapest eligible model
   * (as the hosted service does), or 503. @default "cheapest"
   */
  readonly onFailure?: "cheapest" | "refuse" | undefined;
  /** How many sessions are remembered, least recently used first to go. @default 10_000 */
  readonly sessions?: number | undefined;
  /** Seconds for which a session without requests is remembered. @default 3600 */
  readonly sessionSeconds?: number | undefined;
}

/** A request as {@link ModelRouter.choose} sees it. */
export interface RouteRequest {
  readonly account: string;
  readonly gateway: string;
  readonly format: ChatFormat;
  /** The client's JSON body: a copy, which may be changed without effect. */
  readonly body: Readonly<Record<string, unknown>>;
  readonly isStream: boolean;
  /** The models to choose from, cheapest first: allowed by the client, able, and not failing at the moment. */
  readonly candidates: readonly EligibleModel[];
  /** The abilities that the request needs beyond text. */
  readonly needs: readonly Ability[];
  /** Tokens of its input, estimated. */
  readonly inputTokens: number;
  readonly sessionId: string | null;
  readonly turnId: string | null;
  /** The model that served the session last, whose prompt cache may still be warm; null without one. */
  readonly sessionModel: string | null;
  /** The values in the header `cf-aig-metadata`. */
  readonly metadata: Readonly<Record<string, string | number | boolean>>;
}

/** A model that a request can go to. */
export interface EligibleModel {
  /** As the candidate names it: what {@link RouteChoice} takes. */
  readonly model: string;
  /** The provider's path segment. */
  readonly provider: string;
  /** Estimated US dollars of this request; null when no price is known. */
  readonly cost: number | null;
}

/** The decision of {@link ModelRouter.choose}. */
export interface RouteChoice {
  /** Names of eligible models, the best first; the others are tried when it fails, and models not named are not. */
  readonly models: readonly string[];
  /** Shown as `cf-aig-routing-reason`: 1 to 64 of `a-z`, `0-9` and `_`. @default "cost_optimal_within_pool" */
  readonly reason?: string | undefined;
}
