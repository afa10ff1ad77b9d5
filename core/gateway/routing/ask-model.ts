import { ApiError } from "../../http/api-error.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { Json } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import type { Call, Step } from "../call/call.ts";
import type { Forward } from "../call/forward.ts";
import type { Forwarded } from "../call/forwarded.ts";
import type { ChatFormat } from "../chat/chat-body.ts";
import { providerRow } from "../providers/known/table.ts";
import { holdsCredentials } from "../providers/strip-credentials.ts";
import { compatStep } from "../providers/unified-step.ts";
import type { ModelElement } from "./dynamic/element.ts";

const UNABLE: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/** Whether a provider's status says that it, or its key, cannot serve at the moment. */
export function isUnableStatus(status: number): boolean {
  return status >= 500 || UNABLE.has(status);
}

/** Judges how models have answered one request. */
export interface Verdicts {
  /** Whether an answer says that its model cannot serve at the moment. */
  readonly isUnable: (answer: Forwarded) => boolean;
  /** Whether an error does. */
  readonly isDown: (error: unknown) => boolean;
}

/** Returns how failures count against a model. A caller's own key or deadline says nothing about the model for other callers. */
export function verdictsFor(step: Step, call: Call): Verdicts {
  const { byokAlias, requestTimeout } = { ...call.controls, ...step.controls };
  const isOwnKey = byokAlias !== undefined || holdsCredentials(step, call.token);
  return {
    isUnable: ({ failed, failureStatus, reply }) => {
      const status = failureStatus ?? reply.status;
      return failed && isUnableStatus(status) && !(isOwnKey && status < 500);
    },
    isDown: (error) =>
      error instanceof ApiError &&
      error.kind === "provider_failed" &&
      requestTimeout === undefined &&
      !call.signal.aborted,
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
  const target = compatStep({ ...step, body: utf8(JSON.stringify(named)) });
  return { ...(await forward(target)), answeredBy: { provider, model } };
}

/** From 0 up to, not including, 1. */
export function randomNumber(system: System): number {
  const bytes = system.random(4);
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0) / 2 ** 32;
}
