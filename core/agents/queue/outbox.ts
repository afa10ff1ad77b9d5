import { misfitText } from "../../http/fields/misfit.ts";
import type { OutboundWebhook } from "../define/agent.ts";
import * as v from "valibot";
import { sha256Hex } from "../../crypto/digest.ts";
import {
  applicationId,
  keyConflict,
  OUTBOUND_LIMIT,
  outboundSender,
  sendInput,
  type SendBody,
  type SenderActor,
} from "../../entity/outbound.ts";
import { checkFields } from "../../http/fields/unknown-fields.ts";
import { parsedJson } from "../../http/json.ts";
import { ApiError, invalidOptions, invalidRequest } from "../../http/api-error.ts";
import type { ActorContext, Plain, Statement } from "../../ports.ts";
import { NonRetryableError } from "../define/tasks.ts";
import type { NewJob, Queue } from "./queue.ts";
import type { AgentServices } from "../define/services.ts";
import { SEND_JOB } from "../define/built-in.ts";

/** Retries go on for hours: a message that a state calls sent has to be sent. */
const RETRY = JSON.stringify({ maxAttempts: 50 });

export interface OutboxDeps {
  readonly agent: string;
  readonly context: ActorContext;
  readonly queue: Pick<Queue, "nextPosition">;
  readonly services: AgentServices;
  /** The `traceparent` of the run that sends. @default no tracing */
  readonly trace?: string | null;
}

/**
 * Queues a message. The returned statement belongs into the transaction of the change that it announces. Throws 400,
 * 413.
 */
export async function queueWebhook(
  { agent, context, queue, services, trace }: OutboxDeps,
  message: OutboundWebhook,
): Promise<Statement> {
  if (services.outboundAccount === undefined) {
    throw invalidOptions(
      'agent.webhooks needs the option "sendsWebhooks" of agents(), beside webhooksManagement(); platformApi() has both',
    );
  }
  const { application, json, output } = checkedMessage(message);
  const { idempotency_key: key, payload, ...rest } = output;
  // Also the key in the account's queue of messages: however often this job runs, it makes one message.
  const id = key === undefined ? context.system.id() : await idOf(agent, key, application);
  const input = {
    entity: context.name,
    ...(application === undefined ? {} : { application }),
    ...rest,
    ...(json === undefined ? { payload: payload as Plain } : { json }),
    idempotency_key: `agent:${id}`,
    ...(trace == null ? {} : { trace }),
  };
  const body = json ?? JSON.stringify(message.payload);
  if ((body?.length ?? Infinity) > OUTBOUND_LIMIT) {
    const text = `The payload must be JSON of at most ${OUTBOUND_LIMIT} characters`;
    throw new ApiError("too_large", { message: text });
  }
  if (key !== undefined) await checkRepeated({ agent, context, services }, id, input);
  const job = {
    id,
    task: SEND_JOB,
    payload: JSON.stringify(input),
    position: await queue.nextPosition(),
    due: context.steady(),
    retry: RETRY,
  };
  return insertSend(agent, job);
}

/** The id of a keyed message. Each application has keys of its own. */
function idOf(agent: string, key: string, application: string | undefined): Promise<string> {
  return sha256Hex([agent, key, ...(application === undefined ? [] : [application])].join("\0"));
}

/** A message whose fields are right. Throws 400. */
function checkedMessage({ application, json, ...given }: OutboundWebhook): {
  readonly application: string | undefined;
  readonly json: string | undefined;
  readonly output: SendBody;
} {
  const unknown = checkFields(sendInput, given);
  if (unknown.length > 0) throw invalidRequest(`webhooks.send: ${unknown.join("; ")}`);
  const checked = v.safeParse(sendInput, json === undefined ? given : { ...given, payload: null });
  if (!checked.success) throw invalidRequest(`webhooks.send: ${misfitText(checked.issues)}`);
  if (application !== undefined && !v.is(applicationId, application))
    throw invalidRequest("webhooks.send: application: Expected the id of an application");
  if (json !== undefined && (typeof json !== "string" || parsedJson(json) === undefined))
    throw invalidRequest("webhooks.send: json: Expected a JSON text");
  return { application, json, output: checked.output };
}

/** Throws 409 if the key of a message is that of another one, which waits here or was sent. */
async function checkRepeated(
  { agent, context, services }: Pick<OutboxDeps, "agent" | "context" | "services">,
  id: string,
  input: QueuedMessage,
): Promise<void> {
  const select = "SELECT payload FROM agents_jobs WHERE agent = ? AND id = ?";
  const [waiting] = await context.sql.all(select, [agent, id]);
  if (waiting !== undefined) {
    const other = JSON.parse(String(waiting["payload"])) as QueuedMessage;
    if (contentOf(other) !== contentOf(input)) throw keyConflict();
    return;
  }
  try {
    const { application, ...message } = input;
    const { actor } = await senderOf({ context, services }, application);
    await actor.call("checkRepeated", message);
  } catch (error) {
    // The message waits here for an account that cannot be reached now, or is a dead letter for lack of the application.
    if (error instanceof ApiError && error.kind === "conflict") throw error;
  }
}

/** The parts of a queued message. */
export type QueuedMessage = {
  readonly application?: string;
  readonly type: string;
  readonly payload?: Plain;
  readonly json?: string;
  readonly entity?: string | undefined;
};

function contentOf({ entity = "", json, payload, type }: QueuedMessage): string {
  return JSON.stringify([type, entity, json ?? JSON.stringify(payload)]);
}

/** Queues a message behind the waiting ones, so that messages of one instance reach the account's queue in order. */
function insertSend(agent: string, job: NewJob): Statement {
  return {
    sql: `INSERT INTO agents_jobs (agent, id, position, task, payload, attempt, due, retry)
      SELECT n.agent, n.id, n.position, n.task, n.payload, 0,
        COALESCE((SELECT MAX(w.due) FROM agents_jobs w
          WHERE w.agent = n.agent AND w.event_seq IS NULL AND w.task = n.task AND w.due > n.due), n.due), n.retry
      FROM (SELECT CAST(? AS TEXT) AS agent, CAST(? AS TEXT) AS id, CAST(? AS BIGINT) AS position,
        CAST(? AS TEXT) AS task, CAST(? AS TEXT) AS payload, CAST(? AS BIGINT) AS due, CAST(? AS TEXT) AS retry) AS n
      WHERE true ON CONFLICT (agent, id) DO NOTHING`,
    params: [agent, job.id, job.position, job.task, job.payload, job.due, job.retry],
  };
}

/** Delays the messages behind one that could not be handed over, until that one is due again. */
export function holdSends(agent: string, id: string, due: number): Statement {
  return {
    sql: `UPDATE agents_jobs SET due = ? WHERE agent = ? AND event_seq IS NULL AND task = ? AND due < ?
      AND position > (SELECT f.position FROM agents_jobs f WHERE f.agent = ? AND f.id = ?)`,
    params: [due, agent, SEND_JOB, due, agent, id],
  };
}

/** Hands a queued message to the account's outbound webhooks. */
export async function handToOutbound(
  deps: Pick<OutboxDeps, "context" | "services">,
  input: QueuedMessage,
): Promise<void> {
  const { application, ...message } = input;
  try {
    const { actor, limits } = await senderOf(deps, application);
    await actor.call("send", message, ...(limits === undefined ? [] : [limits]));
  } catch (error) {
    // For example an unknown endpoint: no later attempt will find it. An application that takes no more now will later.
    const isFinal = error instanceof ApiError && error.status < 500 && error.status !== 429;
    throw isFinal ? new NonRetryableError(error.message) : error;
  }
}

function senderOf(
  { context, services }: Pick<OutboxDeps, "context" | "services">,
  application: string | undefined,
): Promise<SenderActor> {
  return outboundSender(context.actors, services.outboundAccount ?? "local", application);
}

/** Hands over all that is queued; rejects if that fails. */
export async function flushOutbox(deps: Omit<OutboxDeps, "queue">): Promise<void> {
  const { agent, context } = deps;
  const select = "SELECT payload FROM agents_jobs WHERE agent = ? AND task = ? ORDER BY position";
  for (const { payload } of await context.sql.all(select, [agent, SEND_JOB]))
    await handToOutbound(deps, JSON.parse(String(payload)) as QueuedMessage);
}
