import { ApiError } from "../../http/api-error.ts";
import type { Json } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import { retryAfterOf } from "../call/attempt.ts";
import type { Call, Step } from "../call/call.ts";
import type { Forward } from "../call/forward.ts";
import type { Forwarded } from "../call/forwarded.ts";
import type { ChatFormat } from "../chat/chat-body.ts";
import { providerRow } from "../providers/known/table.ts";
import { holdsCredentials } from "../providers/strip-credentials.ts";
import { renamedStep } from "../providers/unified-step.ts";
import type { ModelElement } from "./dynamic/element.ts";
import type { TargetHealth, WatchedTarget } from "./pools/target-health.ts";

const UNABLE: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/** Whether a provider's status says that it, or its key, cannot serve at the moment. */
export function isUnableStatus(status: number): boolean {
  return status >= 500 || UNABLE.has(status);
}

type AskTarget = (target: WatchedTarget, ask: () => Promise<Forwarded>) => Promise<Forwarded>;

/**
 * Returns how to ask a target of a step, and to note how it answers. A caller's own key or deadline says nothing about a target
 * for other callers, so failures by it are not noted.
 */
export function askingTargets(
  step: Step,
  call: Call,
  { system, health }: { readonly system: System; readonly health: TargetHealth },
): AskTarget {
  const { byokAlias, requestTimeout } = { ...call.controls, ...step.controls };
  const isOwnKey = byokAlias !== undefined || holdsCredentials(step, call.token);
  const isUnable = ({ failed, failureStatus, reply }: Forwarded): boolean => {
    const status = failureStatus ?? reply.status;
    return failed && isUnableStatus(status) && !(isOwnKey && status < 500);
  };
  const isDown = (error: unknown): boolean =>
    error instanceof ApiError &&
    error.kind === "provider_failed" &&
    requestTimeout === undefined &&
    !call.signal.aborted;
  return async ({ key, coolDownMs, onServed }, ask) => {
    health.asked(key, coolDownMs);
    try {
      const answer = await ask();
      if (isUnable(answer))
        health.failed(key, { coolDownMs, retryAfter: retryAfterOf(answer.reply, system) });
      if (answer.failed) return answer;
      health.served(key);
      onServed?.();
      return answer;
    } catch (error) {
      if (isDown(error)) health.failed(key, { coolDownMs });
      throw error;
    }
  };
}

/**
 * Returns a request with the limit of its answer under the name that a provider takes: a client that leaves the choice to
 * the gateway cannot know it.
 */
export function withOwnLimit(body: Json, slug: string, format: ChatFormat): Json {
  const provider = providerRow(slug);
  // For a translated request the translation sets the limit.
  if (format !== "chat/completions" || provider === undefined || provider.chat !== undefined) {
    return body;
  }
  const limits = ["max_completion_tokens", "max_tokens"];
  const given = limits.map((name) => body[name]).find((limit) => limit !== undefined);
  if (given === undefined || given === null) return body;
  const rest = Object.entries(body).filter(([name]) => !limits.includes(name));
  return { ...Object.fromEntries(rest), [provider.dialect?.limit ?? "max_tokens"]: given };
}

/** Asks one model that a route, the router or a pool leads to, and notes which one it was. */
export async function askModel(
  { provider, model }: Pick<ModelElement, "provider" | "model">,
  step: Step,
  body: Json,
  forward: (target: Step) => ReturnType<Forward>,
): Promise<Forwarded> {
  const named = { ...body, model: `${provider}/${model}` };
  const target = renamedStep(step, named);
  return { ...(await forward(target)), answeredBy: { provider, model } };
}

/** From 0 up to, not including, 1. */
export function randomNumber(system: System): number {
  const bytes = system.random(4);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) / 2 ** 32;
}
