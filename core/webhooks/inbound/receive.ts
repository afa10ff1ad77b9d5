import { methodNotAllowed } from "../../http/routes.ts";
import type { Delivery } from "./delivery.ts";
import type { ApiError } from "../../http/api-error.ts";
import { arrivingRoom, bodiesFull } from "../../http/arriving-body.ts";
import type { Platform } from "../../ports.ts";
import { receiveBatch } from "./receive-batch.ts";
import { entityFor, ownerOf } from "./entity-of.ts";
import { answerHandshake } from "./handshake.ts";
import { decodedBody } from "./decoded-body.ts";
import { parsePayload, queryPayload } from "./record.ts";
import { answerOne, outcomeOf } from "./answer.ts";
import { storeEvent, toEvent } from "./store-event.ts";
import type { NowOrLater } from "../../work/now-or-later.ts";
import { isObject } from "../../http/json.ts";
import { jsonSource } from "../../http/json/json-source.ts";
import type { Payload } from "../signing/pick.ts";
import type { Scheme } from "../signing/scheme.ts";
import { verify, type Refusal } from "../signing/verify.ts";
import { refusedSignature } from "./refused-signature.ts";

/**
 * Takes one webhook: signature over the raw bytes, handshake, JSON, entity, one transaction, answer.
 * Nothing of the body is believed before the signature is valid, nothing is answered before the commit.
 */
export async function receive(delivery: Delivery, platform: Platform): Promise<Response> {
  if (!delivery.request.headers.has("content-encoding")) return await take(delivery, platform);
  // A few bytes may decode to as many as a body may have, before anything is verified.
  const room = arrivingRoom(platform, true);
  try {
    if (!room.take(delivery.maxBodyBytes)) throw bodiesFull();
    return await take(delivery, platform);
  } finally {
    room.release();
  }
}

async function take(delivery: Delivery, platform: Platform): Promise<Response> {
  const { source, request, body } = delivery;
  const now = platform.system.now();
  const signed = {
    method: request.method,
    url: publicUrl(delivery),
    headers: request.headers,
    body,
  };
  const owner = ownerOf(delivery);
  const secrets = owner?.secrets ?? source.shared;
  const { handshakes } = source;
  const test = { request, body, verifyToken: handshakes.verifyToken, secret: secrets.first };
  if (handshakes.unsigned.length > 0 || request.method !== "POST") {
    const answer = await answerHandshake(handshakes.unsigned, test, platform);
    if (answer !== null) return noted(delivery, answer);
    checkMethod(delivery);
  }
  const check = (bytes: Uint8Array): NowOrLater<Refusal | null> =>
    verify(source.scheme, secrets.keys, { ...signed, body: bytes }, now);
  const refuse = (why: Refusal): ApiError => refusedSignature(why, source, signed);
  const refusal = await check(body);
  const encoding = request.headers.get("content-encoding");
  const content =
    encoding === null
      ? body
      : await decoded(delivery, encoding, { check, refuse, platform, refusal });
  if (encoding === null && refusal !== null) throw refuse(refusal);
  delivery.note("verified");

  const parsed =
    request.method === "GET" ? queryPayload(request.url) : parsePayload(content, request.headers);
  const payload = parsed instanceof Promise ? await parsed : parsed;
  if (handshakes.signed.length > 0) {
    const answer = await answerHandshake(handshakes.signed, { ...test, payload }, platform);
    if (answer !== null) return noted(delivery, answer);
  }

  const list = listIn(source.scheme, payload);
  if (list !== null) return receiveBatch({ ...delivery, owner }, list, now, platform);
  const entity = await entityFor(delivery, owner, payload);
  const event = await toEvent(delivery, { entity, payload, now, system: platform.system });
  const stored = await storeEvent(delivery, entity.name, event, platform);
  return answerOne(delivery, stored, await outcomeOf(stored, source, platform));
}

/** Throws 405 for a method by which the sender brings no events. */
function checkMethod({ request: { method }, source: { handshakes, scheme } }: Delivery): void {
  const methods: readonly string[] = scheme.methods ?? [];
  if (method === "POST" || methods.includes(method)) return;
  throw methodNotAllowed([handshakes.allow], method);
}

interface EncodedCheck {
  /** Verifies the signature over other bytes. */
  readonly check: (bytes: Uint8Array) => NowOrLater<Refusal | null>;
  readonly refuse: (refusal: Refusal) => ApiError;
  readonly platform: Platform;
  /** The refusal of the bytes as they came. */
  readonly refusal: Refusal | null;
}

/** The decoded body. Some senders sign what they send, others what they encode. Throws 401, and as decoding does. */
async function decoded(
  { body, maxBodyBytes: limit }: Delivery,
  encoding: string,
  { check, refuse, platform, refusal }: EncodedCheck,
): Promise<Uint8Array> {
  if (refusal !== null && refusal !== "mismatch") throw refuse(refusal);
  const content = await decodedBody(body, { encoding, limit }, platform.system);
  const left = refusal === null ? null : await check(content);
  if (left !== null) throw refuse(left);
  return content;
}

function noted(delivery: Delivery, answer: Response): Response {
  delivery.note("handshakes");
  return answer;
}

/** The list of events that a payload is or has, where the scheme has such; null for one event. */
function listIn({ batch = false }: Scheme, payload: Payload): Payload | null {
  if (batch === false) return null;
  if (batch === true) return Array.isArray(payload.value) ? payload : null;
  const value = isObject(payload.value) ? payload.value[batch] : undefined;
  if (!Array.isArray(value)) return null;
  return { value, text: jsonSource(payload.text, [batch]) ?? "[]" };
}

/** The address that the sender signed: a proxy or host may have taken its origin and the beginning of its path off. */
function publicUrl({ source, request: { url }, mountPath }: Delivery): string {
  if (source.publicUrl === undefined && mountPath === "") return url;
  const start = url.indexOf("/", url.indexOf("://") + 3);
  return `${source.publicUrl ?? url.slice(0, start)}${mountPath}${url.slice(start)}`;
}
