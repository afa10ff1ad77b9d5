import { agentKindName, kebab } from "../../entity/kebab.ts";
import {
  eventTime,
  type IncomingEvent,
  type IngestReceipt,
  type Retention,
} from "../../entity/event.ts";
import { decodeName, checkName } from "../../entity/name.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import type { ActorContext } from "../../ports.ts";
import { choiceHint } from "../../text/nearest.ts";
import { withinMs } from "../../time/within-ms.ts";
import type { OutboundMessage } from "./attempt.ts";
import type { AttemptResult } from "./retry-policy.ts";

/** The agents that endpoints can be. */
export interface AgentTargets {
  /** The account whose agents they are: no other account, and no application, reaches them. */
  readonly account: string;
  readonly retention: Retention;
  /** The path forms of the classes that are served. @default not known: any */
  readonly classes?: readonly string[] | undefined;
}

/** The address of an agent: its class, and the name of one instance. */
const TARGET = /^agent:([A-Za-z][\w-]{0,63})(?:\/([^/?#\s]{1,3072}))?$/;

/** The owner of entities that only endpoints write to. No source has such a name. */
const OWNER = "@endpoints";

/** An agent as an endpoint: its class, and its instance; null = that of the message's entity. */
interface AgentTarget {
  readonly className: string;
  readonly entity: string | null;
}

/** Reads `agent:class` or `agent:class/name`; null for another address. Throws 400 for a name that none can have. */
export function agentTarget(url: string): AgentTarget | null {
  const match = TARGET.exec(url);
  if (match === null) return null;
  const [, className = "", name] = match;
  return { className: kebab(className), entity: name === undefined ? null : decodeName(name) };
}

/** Throws 400 for an agent that `own`, the account or application of an endpoint, cannot send to. */
export function checkAgentTarget(
  { className }: AgentTarget,
  { account, classes }: AgentTargets,
  own: string,
): void {
  const refuse = (message: string): never => {
    throw invalidRequest(`url: ${message}`);
  };
  if (account !== own)
    refuse("Only the account that has the agents can send to one, no application");
  if (classes !== undefined && !classes.includes(className))
    refuse(`No agent of the class "${className}" is served${choiceHint(className, classes)}`);
}

interface AgentDelivery {
  readonly target: AgentTarget;
  /** The id of this delivery: its attempts are one event, and a replay is another. */
  readonly id: string;
  readonly message: OutboundMessage;
  /** The entity of the message. */
  readonly entity: string | null;
  readonly trace: string | null;
  readonly timeoutMs: number;
}

/** Stores a message as an event of an agent, whose `onEvent` handles it from its own queue. Never throws. */
export async function deliverToAgent(
  { actors, system }: ActorContext,
  { retention }: AgentTargets,
  delivery: AgentDelivery,
): Promise<AttemptResult> {
  const { className } = delivery.target;
  const started = system.monotonic();
  const result = (more: Partial<AttemptResult>): AttemptResult => ({
    status: null,
    error: null,
    retryAfter: null,
    refused: false,
    body: "",
    headers: null,
    ...more,
    durationMs: system.monotonic() - started,
  });
  try {
    const entity = checkName(delivery.target.entity ?? delivery.entity ?? "default");
    const event = toEvent(delivery, retention, eventTime(system.now()));
    const agent = actors.get(agentKindName(className), entity);
    const limit = { ms: delivery.timeoutMs, signal: undefined, system };
    const stored = withinMs(limit, (late) =>
      Promise.race([agent.call("ingest", event), rejectedBy(late)]),
    );
    // `as`: the result of that method.
    const receipt = (await stored) as IngestReceipt;
    const { outcome, owner } = receipt;
    if (outcome === "stored" || outcome === "duplicate")
      return result({ status: 200, body: JSON.stringify({ agent: className, entity, outcome }) });
    const whose = owner === null ? "another sender" : `the source "${owner}"`;
    return result({ refused: true, error: `The agent "${entity}" belongs to ${whose}` });
  } catch (error) {
    const isFinal = error instanceof ApiError && error.status < 500;
    const text = error instanceof Error ? error.message : String(error);
    return result({ refused: isFinal, error: text.slice(0, 500) });
  }
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    // `as`: an error, because `withinMs` gives one.
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

function toEvent(
  { id, message, trace }: AgentDelivery,
  retention: Retention,
  timestamp: string,
): IncomingEvent {
  const nothing = { action: null, description: null, url: null, actor: null };
  const { payload, type } = message;
  return {
    record: { id, type, title: type, payload, timestamp, ...nothing },
    provider: OWNER,
    headers: JSON.stringify({ "webhook-id": message.id }),
    bodyHash: null,
    bodyWindowMs: 0,
    canonical: null,
    owners: [OWNER],
    claim: "free",
    respond: "queued",
    retention,
    ...(trace === null ? {} : { trace }),
  };
}
