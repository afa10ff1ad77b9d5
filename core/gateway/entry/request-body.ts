import type { BodyHold } from "../../work/body-budget.ts";
import {
  bodiesFull,
  brokenOff,
  readArriving,
  readSmall,
  UNCOUNTED,
  weightOf,
} from "../../http/arriving-body.ts";
import type { HeaderPair, ReceivedRequest, System } from "../../ports.ts";
import type { Step, Call } from "../call/call.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { cacheTtl } from "../cache/exact/cache-key.ts";
import { limitsSpend } from "../metering/spend/spend.ts";
import { retryPolicy } from "../call/policy.ts";
import type { GatewaySettings } from "../account/settings/settings.ts";
import { FORM_LIMIT } from "../wire/multipart.ts";
import { translationRoute } from "../providers/families.ts";

/** Bytes of a JSON body that are read into memory, once; larger ones stream through. */
const JSON_LIMIT = 10 * 1024 * 1024;
/** Bytes of any other body of known length that are read into memory, so that it can be sent again. */
const OTHER_LIMIT = 1024 * 1024;

/**
 * Bytes of a body that the server reads at once where it has a deadline of its own for that. Longer ones count as they
 * arrive: what is only announced takes no room from others.
 */
const READ_AT_ONCE = 256 * 1024;

/** The memory for a body, and whether a body beyond it may stream through. */
export interface BodyRoom {
  readonly system: System;
  /** Called at most once, for a body that counts. */
  hold(): BodyHold;
  /** Whether nothing needs the bytes, so that they may stream through. */
  mayPass(): boolean;
  /** Whether a form has to be read that would stream through for its length. @default false */
  readsForm?(): boolean;
}

/**
 * Reads a request's body: bytes when it is small, else a stream that the provider pulls at its own pace. Throws
 * `bodies_full` when a body that must be held does not fit.
 */
export function requestBody(
  request: Request,
  headers: readonly HeaderPair[],
  received: ReceivedRequest | null,
  room: BodyRoom,
): Promise<Step["body"]> | Step["body"] {
  if (request.method === "GET" || request.method === "HEAD") return null;
  const type = headerValue(headers, "content-type") ?? "";
  const isJson = JSON_TYPE.test(type);
  const declared = headerValue(headers, "content-length");
  const length = declared === null ? Number.NaN : Number(declared);
  if (length <= UNCOUNTED && received === null) return readSmall(request, room.system);
  if (length <= READ_AT_ONCE && received !== null) {
    const whole = received.bytes().catch(brokenOff);
    return length <= UNCOUNTED ? whole : whole.then((bytes) => counted(bytes, isJson, room));
  }
  if (request.body === null) return null;
  const limit = readLimit(type, length, room);
  if (limit === null) return request.body;
  const hold = room.hold();
  return readArriving(request.body, limit, {
    system: room.system,
    take: (bytes) => hold.take(weightOf(bytes, isJson)),
    clear: () => hold.clear(),
    mayPass: () => room.mayPass(),
  });
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i;
const FORM_TYPE = /^multipart\/form-data\b/i;

/** Bytes up to which a body is read; null for one that streams through. A form whose file is a stream has no known length. */
function readLimit(type: string, length: number, room: BodyRoom): number | null {
  const isJson = JSON_TYPE.test(type);
  const isForm = FORM_TYPE.test(type) && room.readsForm?.() === true;
  const named = isForm ? FORM_LIMIT : null;
  const limit = isJson ? JSON_LIMIT : named;
  if (Number.isNaN(length)) return limit;
  return length <= (limit ?? OTHER_LIMIT) ? (limit ?? OTHER_LIMIT) : null;
}

function counted(bytes: Uint8Array, isJson: boolean, room: BodyRoom): Uint8Array {
  if (!room.hold().take(weightOf(bytes.length, isJson))) throw bodiesFull();
  return bytes;
}

/** Dependencies of deciding whether a request's body must be held. */
export interface BodyNeeds {
  readonly hasChecks: (settings: GatewaySettings) => boolean;
  /** Milliseconds within which a provider must begin to answer, where a request says nothing else. */
  readonly firstByteMs: number;
}

/** Whether a form must be read whole: a virtual key's models, and what a limit counts, are those of each of its fields. */
export function needsForm({ caller, settings }: Call): boolean {
  return caller?.grant !== undefined || limitsSpend(settings.spend_limits);
}

/** Whether something would read a step's body, or send it twice: then it cannot stream through. */
export function needsBody(step: Step, call: Call, parts: BodyNeeds): boolean {
  const { settings, controls } = call;
  return (
    step.slug === "compat" ||
    // Its signatures cover the body.
    step.slug === "aws-bedrock" ||
    translationRoute(step) !== undefined ||
    parts.hasChecks(settings) ||
    needsForm(call) ||
    cacheTtl(call) > 0 ||
    retryPolicy(settings, controls, parts.firstByteMs).attempts > 1
  );
}
