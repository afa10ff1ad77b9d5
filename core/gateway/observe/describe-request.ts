import type { Call, Step } from "../call/call.ts";
import { callerName } from "../call/caller.ts";
import type { LoggedBody, LogRow } from "../call/ended-attempt.ts";
import { modelType, stepModel } from "../providers/requested-model.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { redactQuery } from "../wire/raw-path.ts";
import { bodyText, isJson, plainBytes } from "../wire/readable-body.ts";
import { isLoggedType, loggedBody } from "./log/log-row.ts";

/** Follows the name of a figure in the note of a row. */
export const ESTIMATE = "an estimate";

export type RequestDescription = Pick<
  LogRow,
  | "provider"
  | "model"
  | "path"
  | "metadata"
  | "modelType"
  | "requestType"
  | "requestContentType"
  | "eventId"
  | "userAgent"
  | "authentication"
  | "caller"
  | "dropped"
  | "note"
  | "request"
>;

/** Describes a request; at most `keep` bytes of its body are kept. */
export function describeRequest(step: Step, call: Call, keep: number): RequestDescription {
  const contentType = headerValue(step.headers, "content-type");
  const type = contentType ?? "";
  const isStream = step.body instanceof ReadableStream;
  const body = plainBytes(step);
  const namesModel = body !== null && isJson(step, body);
  const isKept = keep > 0 && isLoggedType(type);
  const text = namesModel || isKept ? bodyText(step) : null;
  const path = step.rest + redactQuery(step.query);
  return {
    provider: step.slug,
    model: stepModel(step, namesModel ? text : null),
    path: path.slice(0, 2048),
    metadata: call.controls.metadata ?? null,
    modelType: modelType(step.rest),
    requestType: requestType(step),
    requestContentType: contentType,
    eventId: call.eventId,
    userAgent: call.userAgent?.slice(0, 512) ?? null,
    authentication: call.settings.authentication,
    caller: callerName(call.caller),
    dropped: droppedNames(step),
    note: noteOn(step, call),
    request: isStream
      ? passedBody(step, isKept)
      : loggedBody(isKept ? text : null, sizeOf(step, body), keep),
  };
}

function noteOn({ estimated }: Step, { controls: { unknown } }: Call): string | null {
  if (estimated !== undefined) return `${estimated}: ${ESTIMATE}`;
  return unknown === undefined ? null : `unknown header ${unknown.join(", ")}`;
}

function droppedNames({ dropped = [] }: Step): string | null {
  return dropped.length === 0 ? null : dropped.join(", ");
}

/** Returns the kind of endpoint that was asked; null for a provider's own. */
function requestType({ unified }: Step): "compat" | null {
  return unified === true ? "compat" : null;
}

/** Returns the bytes of a body; packed ones where it cannot be unpacked. */
function sizeOf({ body: given }: Step, body: Uint8Array | null): number {
  return body?.length ?? (given instanceof Uint8Array ? given.length : 0);
}

function passedBody(step: Step, isKept: boolean): LoggedBody {
  const passed = step.passed?.();
  if (passed === undefined) return { text: null, size: declaredSize(step), complete: false };
  return isKept ? passed : { ...passed, text: null, complete: false };
}

/** Returns the declared size of a body that streams through unread; 0 without one. */
function declaredSize({ headers }: Step): number {
  const size = Number(headerValue(headers, "content-length") ?? 0);
  return Number.isSafeInteger(size) && size > 0 ? size : 0;
}
