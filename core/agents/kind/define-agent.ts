import { isInRange, LONGEST_SECONDS, LONGEST_TIMER_MS } from "../../http/fields/bounded-number.ts";
import { kebab } from "../../entity/kebab.ts";
import type { ActorKind, Plain } from "../../ports.ts";
import { builtInCallables, SEND_JOB } from "../define/built-in.ts";
import type { AgentDefinition, AnyAgent, Callables } from "../define/definition.ts";
import { checkRetry } from "../queue/backoff.ts";
import { nextCron } from "../schedule/next-cron.ts";
import { agentKind } from "./agent-kind.ts";
import type { CallableClass } from "../define/agent-stub.ts";

/** Names that the client's stub never sends (docs/compatibility.md); an operation so named is unreachable. */
const unreachable = new Set<string>([
  ..."toJSON then catch finally valueOf toString constructor prototype $$typeof".split(" "),
  ..."@@toStringTag asymmetricMatch nodeType".split(" "),
]);

/** A class of agents that is ready to be served; `name` is the path form of its name. */
export interface AgentClass<Calls extends object = object> extends CallableClass<Calls> {
  readonly definition: AnyAgent;
  readonly kind: ActorKind;
}

/**
 * Checks a definition and makes an agent class of it. Throws `TypeError` for an invalid definition.
 *
 * @example
 * ```ts
 * import { defineAgent } from "causey/agents";
 *
 * const Counter = defineAgent({
 *   name: "counter",
 *   initialState: { count: 0 },
 *   callable: {
 *     async add(agent, by: number) {
 *       await agent.setState({ count: agent.state.count + by });
 *       return agent.state.count;
 *     },
 *   },
 * });
 * ```
 */
export function defineAgent<State = Plain, Calls extends Callables<State> = Callables<State>>(
  definition: AgentDefinition<State, Calls>,
): AgentClass<Calls> {
  const where = `agent "${definition.name}"`;
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(kebab(definition.name))) {
    throw new TypeError(`The name of ${where} must be 1 to 64 letters, digits, "-" and "_"`);
  }
  checkSettings(definition, where);
  for (const name of Object.keys(definition.callable ?? {})) {
    if (unreachable.has(name))
      throw new TypeError(`Clients cannot call "${name}" of ${where}: rename it`);
    if ((builtInCallables as readonly string[]).includes(name)) {
      throw new TypeError(`"${name}" of ${where} is built in: rename yours`);
    }
  }
  if (Object.hasOwn(definition.tasks ?? {}, SEND_JOB))
    throw new TypeError(`The task "${SEND_JOB}" of ${where} is the runtime's: rename yours`);
  checkTimes(definition, where);
  for (const name of Object.keys(definition.schedules ?? {})) {
    if (!Object.hasOwn(definition.tasks ?? {}, name)) {
      throw new TypeError(`The schedule "${name}" of ${where} has no task of that name`);
    }
  }
  // State is stored as JSON, so every state is Plain by the time it is read back.
  const own = Object.freeze({ ...definition }) as AnyAgent;
  return Object.freeze({
    name: kebab(own.name),
    callable: definition.callable ?? ({} as Calls),
    definition: own,
    kind: agentKind(own),
  });
}

/** Checks settings that plain JavaScript may get wrong, which would otherwise fail only when the first handler runs. */
function checkSettings<State>(definition: AgentDefinition<State>, where: string): void {
  const { callable = {}, ordering = "strict", timeoutMs } = definition;
  if (!["strict", "none"].includes(ordering))
    throw new TypeError(`The ordering of ${where} is "strict" or "none", not "${ordering}"`);
  const times = Object.entries(callable).map(
    ([name, one]) => [name, typeof one === "object" ? one.timeoutMs : undefined] as const,
  );
  for (const [name, ms] of [["", timeoutMs] as const, ...times]) {
    if (ms === undefined || (ms > 0 && isInRange(ms, { min: 0, max: LONGEST_TIMER_MS }))) continue;
    const whose = name === "" ? where : `"${name}" of ${where}`;
    throw new TypeError(
      `The timeoutMs of ${whose} must be a positive number of ms up to ${LONGEST_TIMER_MS}, not ${ms}`,
    );
  }
}

/** Throws on a rule or on retry options that give no valid time, which would otherwise fail in the first instance. */
function checkTimes<State>(definition: AgentDefinition<State>, where: string): void {
  const { retry, schedules = {} } = definition;
  for (const [name, rule] of Object.entries(schedules)) {
    if (typeof rule === "string") nextCron(rule, 0);
    else if (!isInRange(rule, { min: 0.0001, max: LONGEST_SECONDS }))
      throw new TypeError(
        `The schedule "${name}" of ${where} is a cron expression or 0.0001 to ${LONGEST_SECONDS} seconds, not ${String(rule)}`,
      );
  }
  try {
    if (retry !== undefined) checkRetry(retry);
  } catch (error) {
    throw new TypeError(`The retry of ${where}: ${error instanceof Error ? error.message : ""}`, {
      cause: error,
    });
  }
}

/**
 * The built-in agent: it needs no code, keeps the events and shows the newest as its state.
 *
 * @example
 * ```ts
 * import { agents, webhookAgent } from "causey/agents";
 * import { memoryPlatform } from "causey/memory";
 *
 * const platform = await memoryPlatform();
 * const app = agents({ platform, agents: [webhookAgent] });
 * ```
 */
export const webhookAgent: AgentClass = defineAgent({
  name: "webhook-agent",
  feed: true,
});
