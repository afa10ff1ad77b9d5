import { ApiError } from "../../http/api-error.ts";
import type { Json } from "../../http/json.ts";
import type { System } from "../../ports.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import type { Call, Step } from "../call/call.ts";
import { askInOrder } from "../call/fallback.ts";
import type { Forward } from "../call/forward.ts";
import type { Forwarded } from "../call/forwarded.ts";
import { isRetryable } from "../call/policy.ts";
import { stripCredentials } from "../providers/strip-credentials.ts";
import { readUnified, takesPath } from "../providers/unified-step.ts";
import {
  askingTargets,
  askModel,
  isUnableStatus,
  randomNumber,
  withOwnLimit,
} from "./ask-model.ts";
import type { ModelPool, ModelTarget } from "./pools/model-pools.ts";
import { targetOrder } from "./pools/target-order.ts";
import type { TargetHealth } from "./pools/target-health.ts";

export interface PoolParts {
  readonly forward: Forward;
  readonly system: System;
  readonly health: TargetHealth;
}

/** A pool that a step names, and the step's place among others. */
export interface PooledStep {
  readonly pool: ModelPool;
  readonly index: number;
  readonly isLast: boolean;
}

/** Answers a step by the targets of a pool, tried in turn until one answers well or refuses the request itself. */
export async function answerByPool(
  given: Step,
  call: Call,
  { forward, system, health }: PoolParts,
  { pool, index, isLast }: PooledStep,
): Promise<Forwarded> {
  const { pool: _, ...step } = given;
  const own = pool.takesOwnKeys ? step : stripCredentials(step);
  const body = readUnified(step);
  const { sessionId, noSessionAffinity } = { ...call.controls, ...step.controls };
  const askTarget = askingTargets(own, call, { system, health });
  const { coolDownMs } = pool;
  const key = (target: ModelTarget): string => healthKey(call.name, target);
  // The last one asked has the retries and the last word, so it has to take the request. Where none does, the first says so.
  const able = pool.targets.filter(({ provider }) => takesPath(provider, step.rest));
  const targets = targetOrder(able.length === 0 ? pool.targets.slice(0, 1) : able, {
    isCooling: (target) => health.isCooling(key(target)),
    random: () => 1 - randomNumber(system),
    session: noSessionAffinity === true ? undefined : sessionId,
  });
  const ask = (target: ModelTarget, rank: number): Promise<Forwarded> => {
    const isEnd = rank === targets.length - 1;
    return askTarget({ key: key(target), coolDownMs }, () =>
      askModel(target, asTarget(own, target, isEnd), bodyFor(target), (sent) =>
        forward(sent, index, isLast && isEnd, call),
      ),
    );
  };
  const bodyFor = ({ provider }: ModelTarget): Json =>
    step.rest === "chat/completions" ? withOwnLimit(body, provider, step.rest) : body;
  const none = (): ApiError => new ApiError("provider_failed");
  return askInOrder(targets, ask, call, { system, none, isFinal: isRefused });
}

/** Names a target among those of all gateways: keys and limits are a gateway's own. */
function healthKey({ account, gateway }: GatewayName, { id }: ModelTarget): string {
  return JSON.stringify([account, gateway, id]);
}

/** Returns the step with a target's key. Other targets are quicker than another attempt at this one. */
function asTarget(step: Step, { key }: ModelTarget, isEnd: boolean): Step {
  if (key === undefined && isEnd) return step;
  return {
    ...step,
    controls: {
      ...step.controls,
      ...(key === undefined ? {} : { byokAlias: key }),
      ...(isEnd ? {} : { maxAttempts: 1 }),
    },
  };
}

/** Whether an answer refuses the request, as every other target would. */
function isRefused({ reply: { status } }: Forwarded): boolean {
  return status >= 400 && !isUnableStatus(status) && !isRetryable(status, null);
}
