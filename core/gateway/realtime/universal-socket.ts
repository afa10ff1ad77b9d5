import { sha256Hex } from "../../crypto/digest.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Actor, ActorContext, ActorKind, Connection, Log } from "../../ports.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { GatewayAdmission, AdmitOptions } from "../entry/admission.ts";
import type { BodyBudget } from "../../work/body-budget.ts";
import type { GatewayAccess } from "../entry/access.ts";
import type { ContentDecoding } from "../../http/body/content-decoder.ts";
import type { Call } from "../call/call.ts";
import type { GatewayCaller } from "../call/caller.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { headerPairs } from "../wire/header-hygiene.ts";
import { bodiesFull, weightOf } from "../../http/arriving-body.ts";
import { tracedError } from "../entry/call-error.ts";
import { BODY_LIMIT, forwardSteps, type StepsParts, toSteps } from "../entry/universal.ts";
import { socketToken } from "./socket-token.ts";
import { universalError, eventIdOf, readCreate, universalFrames } from "./universal-frames.ts";

export interface SocketParts extends StepsParts {
  readonly log: Log;
  readonly access: Pick<GatewayAccess, "callerOf">;
  readonly admission: Pick<GatewayAdmission, "admit">;
  readonly bodies: BodyBudget;
  readonly decoding: ContentDecoding;
}

/** Requests that one connection may have under way. */
const UNDER_WAY = 32;
/** Requests of one connection that wait for their turn, and what their messages may be long together, in characters. */
const QUEUED = 256;
const QUEUED_LENGTH = BODY_LIMIT;
/** Messages in a row that are refused because too many wait; after these a connection is closed. */
const REFUSED = 256;

type Message = string | Uint8Array;

interface Requests {
  /** Requests that are running; each entry ends with its request. */
  readonly underWay: Set<AbortController>;
  /** Messages that wait, in the order of arrival. */
  readonly queue: Message[];
  /** Length of all waiting messages. */
  length: number;
  /** Number of messages that were refused since one was last accepted. */
  refused: number;
}

/** State that this process keeps of its connections, by their ids. */
interface ConnectionState {
  readonly requests: Map<string, Requests>;
  /** The gateway tokens that they presented, so that they never travel to a provider. Never stored. */
  readonly tokens: Map<string, string>;
}

/** Actors among which the connections of one gateway are spread. */
const SLOTS = 32;

/** Returns the name of the actor for a new connection; `random` is any byte. */
export function socketActorName({ account, gateway }: GatewayName, random: number): string {
  return JSON.stringify([account, gateway, random % SLOTS]);
}

/**
 * Makes the kind of the actors that hold universal WebSockets. Messages are answered outside of the mailbox, so that
 * requests run side by side and a close is heard at once. The process keeps the running requests, not the instance, which
 * may be evicted during a long answer.
 */
export function universalSocketKind(name: string, parts: SocketParts): ActorKind {
  const state: ConnectionState = { requests: new Map(), tokens: new Map() };
  return { name, schema: [], start: (context) => socketActor(context, state, parts) };
}

function socketActor(
  context: ActorContext,
  { requests, tokens }: ConnectionState,
  parts: SocketParts,
): Actor {
  const [account = "", gateway = ""] = JSON.parse(context.name) as string[];
  const name = { account, gateway };
  const start = (message: Message, connection: Connection, own: Requests): void => {
    const { id } = connection;
    const abort = new AbortController();
    own.underWay.add(abort);
    const token = tokens.get(id) ?? null;
    const from = { name, token, caller: (connection.attachment ?? null) as GatewayCaller | null };
    const work = answer(message, connection, parts, { origin: from, abort }).finally(() => {
      own.underWay.delete(abort);
      // Aborted when the connection closed: the waiting messages are dropped.
      if (abort.signal.aborted) own.queue.length = 0;
      const next = own.queue.shift();
      if (next !== undefined) {
        own.length -= next.length;
        start(next, connection, own);
      } else if (own.underWay.size === 0) requests.delete(id);
    });
    context.system.waitUntil(work);
  };
  return {
    methods: {},
    async fetch(request) {
      const protocol = chosenProtocol(request.headers.get("sec-websocket-protocol"));
      const id = context.system.id();
      const token = socketToken(headerPairs(request));
      const accepted = context.sockets.accept(request, {
        id,
        maxMessage: BODY_LIMIT,
        attachment: await attachedCaller(token, name, parts),
        ...(protocol === null ? {} : { protocol }),
      });
      if (token !== null) tokens.set(id, token);
      return accepted;
    },
    onMessage(connection, message) {
      const own = requests.get(connection.id) ?? newRequests();
      requests.set(connection.id, own);
      if (own.underWay.size < UNDER_WAY) return start(message, connection, own);
      wait(message, connection, own);
    },
    onClose({ id }) {
      tokens.delete(id);
      const own = requests.get(id);
      if (own === undefined) return;
      own.queue.length = 0;
      for (const abort of own.underWay) abort.abort();
    },
  };
}

/** Lets a message wait for its turn, or refuses it. */
function wait(message: Message, connection: Connection, own: Requests): void {
  if (own.queue.length < QUEUED && own.length + message.length <= QUEUED_LENGTH) {
    own.refused = 0;
    own.queue.push(message);
    own.length += message.length;
    return;
  }
  // Refusing takes time too, and a flood of small messages would leave none for others.
  if (++own.refused > REFUSED) connection.close(1013, "Too many messages wait to be answered");
  else connection.send(universalError(tooMany(), eventIdOf(message)));
}

function newRequests(): Requests {
  return { underWay: new Set(), queue: [], length: 0, refused: 0 };
}

/** Kept with the connection, which outlives the instance. Who cannot be found out is a stranger. */
async function attachedCaller(
  token: string | null,
  name: GatewayName,
  { access }: SocketParts,
): Promise<GatewayCaller | null> {
  try {
    const caller = await access.callerOf(token, name, false);
    if (caller === null || token === null) return null;
    // The caller's rights are read again for each message.
    return { kind: caller.kind, id: caller.id, tokenHash: await sha256Hex(token) };
  } catch {
    return null;
  }
}

interface Origin {
  readonly name: GatewayName;
  readonly token: string | null;
  readonly caller: GatewayCaller | null;
}

/** Browsers fail a connection whose offered protocols are all passed over; a token is chosen last. */
function chosenProtocol(offered: string | null): string | null {
  const names = (offered ?? "").split(",").map((one) => one.trim());
  const plain = names.find((one) => one !== "" && !one.includes("."));
  return plain ?? names.find((one) => one !== "") ?? null;
}

function tooMany(): ApiError {
  return new ApiError("gateway_rate_limited", {
    message: `A connection runs at most ${UNDER_WAY} requests at a time. Up to ${QUEUED} more may wait, with ${QUEUED_LENGTH} characters together`,
  });
}

const MESSAGE: AdmitOptions = { entry: { method: null, route: "universal.create" } };

interface SocketCall {
  readonly origin: Origin;
  readonly abort: AbortController;
}

/** Forwards one request and sends the frames of its answer; never rejects. */
async function answer(
  message: string | Uint8Array,
  connection: Connection,
  parts: SocketParts,
  { origin: { name, token, caller }, abort }: SocketCall,
): Promise<void> {
  let eventId: string | null = null;
  let call: Call | undefined;
  const held = parts.bodies.hold();
  try {
    const create = readCreate(message);
    eventId = create.eventId;
    if (!held.take(weightOf(message.length, true))) throw bodiesFull();
    const steps = toSteps([create.step], parts.pools(name));
    // The connection has shown its token already; the request counts like any other, and asks for the caller again.
    const how = { ...MESSAGE, caller, connected: { token } };
    call = await parts.admission.admit(name, steps[0]?.headers ?? [], abort.signal, how);
    const forwarded = await forwardSteps(steps, { ...call, token, held }, parts);
    call.traced?.answer(forwarded);
    for await (const frame of universalFrames(forwarded, parts)) {
      await room(connection, frame.length, abort.signal, parts);
      if (connection.send(frame)) continue;
      // The connection has closed.
      abort.abort();
      return;
    }
  } catch (error) {
    tracedError(call, error);
    if (!abort.signal.aborted) connection.send(universalError(reported(error, parts), eventId));
  } finally {
    held.release();
  }
}

/** The most that may wait on a connection, in characters and in frames: well below the platform's limits for closing it. */
const WAITING = 512 * 1024;
const WAITING_FRAMES = 128;
const FRAME_COST = 256;
/** How often a full connection is looked at, in ms. */
const POLL_MS = 5;

/** Waits until the client has read enough for another frame, and so makes the provider wait. */
async function room(
  connection: Connection,
  size: number,
  signal: AbortSignal,
  { system }: SocketParts,
): Promise<void> {
  const isFull = (): boolean => {
    const { buffered, queued } = connection;
    if (buffered === 0) return false;
    return buffered + size + queued * FRAME_COST > WAITING || queued > WAITING_FRAMES;
  };
  while (!signal.aborted && isFull()) await system.sleep(POLL_MS, signal).catch(() => undefined);
}

function reported(error: unknown, { failureStatus, log }: SocketParts): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof TransportError) {
    return new ApiError("provider_failed", { status: failureStatus, message: error.message });
  }
  log("error", "A request over WebSocket failed", { error: String(error) });
  return new ApiError("internal");
}
