import { EVENT_JOB, type EventAnswer, type ProcessResult } from "../../entity/event.ts";
import { envelope } from "../../http/envelope.ts";
import { noteResponse, type RequestEffect } from "../../http/response-note.ts";
import type { Platform } from "../../ports.ts";
import { resultOrLate } from "../../time/result-or-late.ts";
import { isForm } from "../signing/signed-content.ts";
import type { Delivery } from "./delivery.ts";
import type { WebhookSource } from "./source.ts";
import type { StoredEvent } from "./store-event.ts";

/** The state of an event when its sender is answered, and the answer of its handler, if there is one. */
export interface Outcome {
  readonly status: "duplicate" | "processed" | "queued";
  readonly answer: EventAnswer | null;
}

const QUEUED: Outcome = { status: "queued", answer: null };
const PROCESSED: Outcome = { status: "processed", answer: null };

/** Waits for the handler of a stored event if the source asks for that, for as long as its sender waits. */
export async function outcomeOf(
  stored: StoredEvent,
  source: WebhookSource,
  platform: Platform,
): Promise<Outcome> {
  const { answer, isDetached, job, status } = stored;
  const waits = job !== null && source.respond === "processed" && isDetached !== true;
  if (status === "duplicate") {
    const first = answer ?? (waits ? await answerOfFirst(stored, job, source, platform) : null);
    return { status, answer: first };
  }
  if (source.respond === "processed" && job === null) return PROCESSED;
  if (!waits) return QUEUED;
  const result = await processed({ source, entity: stored.entity, job }, platform, () =>
    platform.actors.get(source.agentKind, stored.entity).call("forgetSender", job),
  );
  if (typeof result === "boolean") return result ? PROCESSED : QUEUED;
  return { status: "processed", answer: "dropped" in result ? null : result };
}

/** A sender that repeats an event while its handler runs waits for the handler's answer, too. */
async function answerOfFirst(
  { entity, id }: StoredEvent,
  job: string,
  source: WebhookSource,
  platform: Platform,
): Promise<EventAnswer | null> {
  if ((await processed({ source, entity, job }, platform)) === false) return null;
  const ref = platform.actors.get(source.agentKind, entity);
  return (await ref.call("answerOf", source.name, id)) as EventAnswer | null;
}

/**
 * The answer to a request of one event: its handler's, else the source's own, else that of the scheme to a form, else 202
 * while the handler has still to run.
 */
export function answerOne(
  { request, source }: Pick<Delivery, "request" | "source">,
  { entity, id }: StoredEvent,
  { answer, status }: Outcome,
): Response {
  const { agentClass: agent, name } = source;
  const made = { kind: "event", source: name, agent, entity, id } as const;
  const { formAnswer = null } = source.scheme;
  const own = answer ?? source.answer ?? (isPersonal(request) ? formAnswer : null);
  if (own !== null) return answerResponse(own, made);
  const result = { id, entity, agent, status };
  return status === "queued"
    ? envelope({ ...result, job: EVENT_JOB }, { status: 202, made })
    : envelope(result, { made });
}

/** Whether a person waits behind the sender: for a command, a dialog, a call. */
const isPersonal = ({ headers, method }: Request): boolean => method === "GET" || isForm(headers);

/** Statuses whose responses have no body (https://fetch.spec.whatwg.org/#null-body-status). */
const BODILESS = new Set([204, 205, 304]);

/** The response of an answer. No browser takes it for a document of ours. */
export function answerResponse(
  { body, status, type }: EventAnswer,
  made?: RequestEffect,
): Response {
  const headers = new Headers({ "x-content-type-options": "nosniff" });
  if (type !== null) headers.set("content-type", type);
  const bytes = body === "" || BODILESS.has(status) ? null : new TextEncoder().encode(body);
  return noteResponse(new Response(bytes, { status, headers }), { body: bytes, made });
}

interface Awaited {
  readonly source: WebhookSource;
  readonly entity: string;
  readonly job: string;
}

/** The result of a job's run; false when its sender waits no longer, of which `onLeft` tells the instance. */
async function processed(
  { entity, job, source }: Awaited,
  platform: Platform,
  onLeft?: () => Promise<unknown>,
): Promise<ProcessResult> {
  const { actors, log, system } = platform;
  const work = actors
    .get(source.agentKind, entity)
    .call("process", job)
    .catch(() => false) as Promise<ProcessResult>;
  // On Workers, work that a request began ends with its answer, unless it is kept alive.
  system.waitUntil(work);
  const result = await resultOrLate(work, null, { ms: source.answerMs, system });
  const noteDropped = (late: ProcessResult): void => {
    if (typeof late === "boolean" || !("dropped" in late)) return;
    const fields = { source: source.name, entity, reason: late.dropped };
    log("warn", "The answer of a webhook's handler was dropped", fields);
  };
  if (result !== null) {
    noteDropped(result);
    return result;
  }
  if (onLeft !== undefined) system.waitUntil(onLeft().catch(() => undefined));
  system.waitUntil(work.then(noteDropped));
  return false;
}
