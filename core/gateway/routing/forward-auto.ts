import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { Call, Step } from "../call/call.ts";
import type { Forward } from "../call/forward.ts";
import { AUTO_MODEL, compatStep } from "../providers/unified-step.ts";
import { readChatBody, type ChatFormat } from "../chat/chat-body.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { stripCredentials, holdsCredentials } from "../providers/strip-credentials.ts";
import { askInOrder, type FallbackParts } from "../call/fallback.ts";
import type { Json } from "../../http/json.ts";
import { providers } from "../providers/known/table.ts";
import type { AutoRouter, Decision } from "./router/auto-router.ts";
import type { PoolCandidate } from "./router/pool.ts";

/** Dependencies of {@link forwardAuto}. */
export interface AutoParts extends FallbackParts {
  readonly forward: Forward;
  /** @default none: such requests are refused */
  readonly router?: AutoRouter | undefined;
}

/** Answers of a provider that say that it, or its key, cannot serve at the moment. */
const UNABLE: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/**
 * Answers a step whose model is `cloudflare/auto` by the models that the automatic router puts in order, tried in turn
 * until one answers well. Throws `chat_format` where the gateway has no router.
 */
export async function forwardAuto(
  given: Step,
  format: ChatFormat,
  index: number,
  isLast: boolean,
  call: Call,
  parts: AutoParts,
): Promise<Forwarded> {
  if (parts.router === undefined) {
    throw new ApiError("chat_format", {
      message: `The model "${AUTO_MODEL}" needs an automatic router, and this gateway has none: name a model, or configure "router"`,
    });
  }
  const { auto: _, ...step } = given;
  if (!(step.body instanceof Uint8Array)) throw new ApiError("chat_format");
  const body = readChatBody(step.body);
  const controls = { ...call.controls, ...step.controls };
  const decision = await parts.router.route({ call, controls, format, bytes: step.body, body });
  const own = decision.isOneProvider ? step : stripCredentials(step);
  const isOwnLimit = controls.requestTimeout !== undefined;
  const isOwnKey = controls.byokAlias !== undefined || holdsCredentials(own, call.token);
  const ask = async (
    candidate: PoolCandidate,
    rank: number,
    isEnd: boolean,
  ): Promise<Forwarded> => {
    const target = compatStep({
      ...own,
      body: utf8(JSON.stringify(bodyFor(candidate, body, format))),
    });
    try {
      const forwarded = await parts.forward(target, index, isEnd && isLast, call);
      const { status } = forwarded.reply;
      if (!forwarded.failed) decision.served(candidate);
      // A provider's refusal of the caller's own key must not affect other callers.
      else if (status >= 500 || (!isOwnKey && UNABLE.has(status))) decision.failed(candidate);
      return withRouting(forwarded, candidate, rank, decision);
    } catch (error) {
      // A client's own impatience says nothing about the provider.
      const isDown = error instanceof ApiError && error.kind === "provider_failed";
      if (isDown && !isOwnLimit && !call.signal.aborted) decision.failed(candidate);
      throw error;
    }
  };
  return askInOrder(decision.candidates, ask, call, parts);
}

/** Returns the answer with what is said of the decision in its headers. */
function withRouting(
  forwarded: Forwarded,
  candidate: PoolCandidate,
  index: number,
  { id, reason }: Decision,
): Forwarded {
  return {
    ...forwarded,
    answeredBy: { provider: candidate.slug, model: candidate.model },
    routing: {
      id,
      model: candidate.name,
      reason: index === 0 ? reason : "fallback_candidate_unavailable",
    },
  };
}

/**
 * Returns the request for one candidate: a client that leaves the choice to the gateway cannot know how each limits its
 * answer.
 */
function bodyFor({ slug, model }: PoolCandidate, body: Json, format: ChatFormat): Json {
  const named = { ...body, model: `${slug}/${model}` };
  const provider = Object.hasOwn(providers, slug) ? providers[slug] : undefined;
  // For a translated request the translation sets the limit.
  if (format !== "chat/completions" || provider === undefined || provider.chat !== undefined) {
    return named;
  }
  const limits = ["max_completion_tokens", "max_tokens"];
  const given = limits.map((name) => body[name]).find((limit) => limit !== undefined);
  if (given === undefined || given === null) return named;
  const rest = Object.entries(named).filter(([name]) => !limits.includes(name));
  return { ...Object.fromEntries(rest), [provider.dialect?.limit ?? "max_tokens"]: given };
}
