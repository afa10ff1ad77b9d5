import type { ActorContext, Connection } from "../../ports.ts";
import type { RunHandler } from "../handlers/agent-api.ts";
import type { AnyAgent } from "../define/definition.ts";
import type { Agent, AgentConnection } from "../define/agent.ts";
import type { EventReader } from "../events/events.ts";
import type { Live } from "../feed/live.ts";
import {
  identityFrame,
  mcpFrame,
  parseFrame,
  stateErrorFrame,
  stateFrame,
  type ClientFrame,
} from "../protocol/protocol.ts";
import { forHandlers, grantOf, type ConnectionGrant } from "../protocol/grant.ts";
import { callOperation } from "./call-operation.ts";
import { startLines, type Slots } from "../turns/slots.ts";
import type { Reviews } from "./reviews.ts";
import type { StateHolder } from "../state/state.ts";

/** The WebSocket side of an instance. */
export interface AgentSession {
  /** Accepts a connection and sends the first frames. */
  connect(request: Request, edit: boolean): Promise<Response>;
  onMessage(connection: Connection, message: string | Uint8Array): Promise<void>;
  onClose(connection: Connection, code: number, reason: string): Promise<void>;
}

export interface AgentSessionDeps {
  readonly context: ActorContext;
  readonly reviews: Reviews;
  readonly definition: AnyAgent;
  readonly className: string;
  readonly agent: string;
  readonly state: StateHolder;
  readonly live: Live;
  readonly events: EventReader;
  readonly run: RunHandler;
  /** Runs the instance's exclusive callables one after another. */
  readonly exclusive: Slots;
}

/** The WebSocket side of an instance. */
export function startSession(deps: AgentSessionDeps): AgentSession {
  const { context, definition, reviews, state, live } = deps;
  const lines = startLines();
  const clients = startClients();

  async function connect(request: Request, edit: boolean): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const since = positionOf(query.get("since"));
    const id = connectionId(query.get("_pk")) ?? context.system.id();
    const grant = await newGrant(deps, request, edit);
    // A pending frame is for the other connections: this one gets the state in its greeting.
    state.flush();
    const tags = definition.connectionTags?.(request) ?? [];
    // An older connection with this id is replaced.
    clients.leave(id);
    const response = context.sockets.accept(request, { id, tags, attachment: grant });
    const connection = context.sockets.connections().find((one) => one.id === id);
    if (connection === undefined) return response;
    if (!grant.silent) greet(deps, connection);
    reviews.begin(connection, request);
    const line = lines.of(id);
    const opened = open(deps, connection, request, since).finally(() => {
      line.opened = undefined;
    });
    line.opened = opened;
    context.system.waitUntil(opened);
    return response;
  }

  return {
    connect,
    async onMessage(connection, message) {
      const line = lines.of(connection.id);
      if (line.opened !== undefined) await line.opened.catch(() => undefined);
      const frame = typeof message === "string" ? parseFrame(message) : null;
      if (frame?.type === "rpc") {
        const left = clients.signalOf(connection.id);
        const caller = { ...deps, grant: grantOf(connection), left };
        await line.calls(() => callOperation(caller, connection, frame));
      } else if (frame === null) {
        await line.messages(() =>
          reported(deps, connection, "onMessage", (api, own) =>
            definition.onMessage?.(api, own, message),
          ),
        );
      } else await onFrame(deps, connection, frame);
    },
    async onClose(connection, code, reason) {
      const isReplaced = context.sockets.connections().some(({ id }) => id === connection.id);
      if (!isReplaced) clients.leave(connection.id);
      reviews.end(connection);
      live.unsubscribe(connection);
      const line = lines.of(connection.id);
      await line.messages(() =>
        reported(deps, connection, "onClose", (api, own) =>
          definition.onClose?.(api, own, code, reason),
        ),
      );
      const isBack = context.sockets.connections().some(({ id }) => id === connection.id);
      if (!isBack) lines.drop(connection.id);
    },
  };
}

interface Clients {
  /** Returns the signal that is aborted when the client of this connection has left. */
  signalOf(id: string): AbortSignal;
  leave(id: string): void;
}

/** The clients that have called something, by the ids of their connections. */
function startClients(): Clients {
  const callers = new Map<string, AbortController>();
  return {
    signalOf(id) {
      const caller = callers.get(id) ?? new AbortController();
      callers.set(id, caller);
      return caller.signal;
    },
    leave(id) {
      callers.get(id)?.abort(new DOMException("The client has left", "AbortError"));
      callers.delete(id);
    },
  };
}

async function newGrant(
  { definition, reviews }: AgentSessionDeps,
  request: Request,
  edit: boolean,
): Promise<ConnectionGrant> {
  const holder = await reviews.holderOf(request);
  const isBarred = definition.shouldConnectionBeReadonly?.(request) === true;
  return {
    edit,
    readonly: !(edit && definition.clientState === true) || isBarred,
    follows: positionOf(new URL(request.url).searchParams.get("since")) !== null,
    silent: definition.shouldSendProtocolMessages?.(request) === false,
    holder,
    own: undefined,
  };
}

function greet({ className, context, state }: AgentSessionDeps, connection: Connection): void {
  const current = state.stored();
  connection.send(identityFrame(context.name, className, current !== undefined));
  if (current !== undefined) connection.send(stateFrame(current));
  connection.send(mcpFrame);
}

/** Runs a handler; passes an error that it throws to {@link failed}. */
async function reported(
  deps: AgentSessionDeps,
  connection: Connection,
  what: string,
  work: (api: Agent, own: AgentConnection) => unknown,
): Promise<void> {
  try {
    await deps.run(what, (api, { check }) => work(api, forHandlers(connection, check)));
  } catch (error) {
    await failed(deps, connection, error);
  }
}

/** Passes a handler's error to `onError`, or logs it without one. */
async function failed(
  { definition, run }: AgentSessionDeps,
  connection: Connection,
  error: unknown,
): Promise<void> {
  if (definition.onError === undefined) throw error;
  await run("onError", (api, { check }) =>
    definition.onError?.(api, error, forHandlers(connection, check)),
  );
}

/** The client's own id of the connection. It can claim any: an equal one replaces the older connection. */
function connectionId(text: string | null): string | null {
  return text !== null && /^[\w.:-]{1,128}$/.test(text) ? text : null;
}

/** Reads a position in the feed from a query or header; null when there is none. */
export function positionOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

async function open(
  deps: AgentSessionDeps,
  connection: Connection,
  request: Request,
  since: number | null,
): Promise<void> {
  const { definition, live, run } = deps;
  try {
    await run("onConnect", (api, { check }) =>
      definition.onConnect?.(api, forHandlers(connection, check), request),
    );
    if (since !== null) live.subscribe(connection, since);
  } catch (error) {
    // 1011 = the server met a condition that it did not expect (RFC 6455 section 7.4.1).
    connection.close(1011, "The connection could not be set up");
    await failed(deps, connection, error);
  }
}

async function onFrame(
  deps: AgentSessionDeps,
  connection: Connection,
  frame: Exclude<ClientFrame, { readonly type: "rpc" }>,
): Promise<void> {
  const { definition, live, state } = deps;
  if (frame.type === "refused") {
    // The code for a message that is too long (RFC 6455 section 7.4.1).
    connection.close(1009, frame.reason);
    return;
  }
  if (frame.type === "subscribe") {
    connection.attachment = { ...grantOf(connection), follows: true };
    live.subscribe(connection, frame.since);
    return;
  }
  if (grantOf(connection).readonly) {
    connection.send(stateErrorFrame("Connection is readonly"));
    return;
  }
  try {
    await state.set(frame.state, "client", connection.id);
  } catch {
    // The official server does not reveal the reason either.
    connection.send(stateErrorFrame("State update rejected"));
    return;
  }
  await reported(deps, connection, "onStateChanged", (api) =>
    definition.onStateChanged?.(api, frame.state, "client"),
  );
}
