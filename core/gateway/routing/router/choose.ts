import { ApiError, invalidOptions } from "../../../http/api-error.ts";
import type { Platform } from "../../../ports.ts";
import type { ModelRouter, RouteChoice, RouteRequest } from "./model-router.ts";
import type { Ranked } from "./rank.ts";
import { TIMER_OVER } from "../../../time/timer-over.ts";

/** Candidates in the order in which they are tried, and why. */
export interface Order {
  readonly candidates: readonly Ranked[];
  /** One of the hosted service's reasons, or the hook's own. */
  readonly reason: string;
  /** Whether the hook has chosen, so that what it did not name is not tried. */
  readonly isChosen?: true;
}

/** Asks the operator's hook for the order of eligible candidates. */
export type Choose = (
  request: RouteRequest,
  ranked: readonly Ranked[],
  client: AbortSignal,
) => Promise<Order>;

/** How a hook can fail; the names are the hosted service's. */
type Failure =
  | "fallback_router_error"
  | "fallback_router_timeout"
  | "fallback_key_not_in_candidates";

const problems: Readonly<Record<Failure, string>> = {
  fallback_router_error: "failed",
  fallback_router_timeout: "did not answer in time",
  fallback_key_not_in_candidates: "made no valid choice",
};

/** Milliseconds between two messages about a hook that keeps failing in one way. */
const QUIET_MS = 60_000;
const TIMEOUT_MS = 2000;
/** Names that are looked at in one answer. */
const NAMES = 64;

/**
 * Bounds the hook of the options: what it throws, how long it takes and what it answers can do no more than cost its say.
 * Throws `router_failed` where the options want that.
 */
export function chooser(
  choose: NonNullable<ModelRouter["choose"]>,
  options: ModelRouter,
  { system, log }: Pick<Platform, "system" | "log">,
): Choose {
  const { timeoutMs = TIMEOUT_MS, onFailure = "cheapest" } = options;
  if (!(timeoutMs >= 1 && timeoutMs <= 60_000)) {
    throw invalidOptions(`router: timeoutMs: expected 1 to 60000, got ${timeoutMs}`);
  }
  const lastLogged = new Map<Failure, number>();
  const tell = (failure: Failure, detail: string): void => {
    const now = system.monotonic();
    if (now - (lastLogged.get(failure) ?? Number.NEGATIVE_INFINITY) < QUIET_MS) return;
    lastLogged.set(failure, now);
    log("warn", `The automatic router ${problems[failure]}`, { detail: detail.slice(0, 256) });
  };
  const late = Symbol("late");
  const ask = async (request: RouteRequest, client: AbortSignal): Promise<unknown> => {
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, client]);
    const timer = system.sleep(timeoutMs, signal).then(
      () => late,
      () => late,
    );
    try {
      // A hook that throws before its first await throws here.
      return await Promise.race([choose(request, signal), timer]);
    } finally {
      over.abort(TIMER_OVER);
    }
  };
  return async (request, ranked, client) => {
    const failed = (failure: Failure, detail: string): Order => {
      tell(failure, detail);
      if (onFailure === "cheapest") return { candidates: ranked, reason: failure };
      throw new ApiError("router_failed", {
        message: `The automatic router of this gateway ${problems[failure]}`,
      });
    };
    const outcome = await ask(request, client)
      .then((answer): Outcome => (answer === late ? "late" : { order: orderOf(answer, ranked) }))
      .catch((error: unknown): Outcome => ({ error: wordsOf(error) }));
    // The client has left, and the hook is not to blame.
    if (client.aborted) throw new ApiError("provider_failed", { message: "The client went away" });
    if (outcome === "late") return failed("fallback_router_timeout", `${timeoutMs} ms`);
    if ("error" in outcome) return failed("fallback_router_error", outcome.error);
    const { order } = outcome;
    return typeof order === "string" ? failed("fallback_key_not_in_candidates", order) : order;
  };
}

/** How a hook's turn ended; in place of an order stands what is wrong with the answer. */
type Outcome = "late" | { readonly error: string } | { readonly order: Order | string };

/**
 * Returns the order that an answer asks for, or what is wrong with it: never what else is in it, which may be the prompt.
 */
function orderOf(answer: unknown, ranked: readonly Ranked[]): Order | string {
  if (!isChoice(answer)) return 'expected "models", a list of names';
  const { models, reason = "cost_optimal_within_pool" } = answer;
  if (typeof reason !== "string" || !/^[a-z0-9_]{1,64}$/.test(reason)) {
    return 'expected as "reason" 1 to 64 of a-z, 0-9 and _';
  }
  const candidates: Ranked[] = [];
  for (const name of models) {
    const found = ranked.find(({ candidate }) => candidate.name === name);
    if (found === undefined) return `not eligible: "${name.slice(0, 64)}"`;
    if (!candidates.includes(found)) candidates.push(found);
  }
  return { candidates, reason, isChosen: true };
}

function isChoice(answer: unknown): answer is RouteChoice {
  if (typeof answer !== "object" || answer === null || !("models" in answer)) return false;
  const { models } = answer;
  return (
    Array.isArray(models) &&
    models.length > 0 &&
    models.length <= NAMES &&
    models.every((name) => typeof name === "string")
  );
}

/** Describes a thrown value in words; anything can be thrown. */
function wordsOf(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : typeof error;
  } catch {
    return typeof error;
  }
}
