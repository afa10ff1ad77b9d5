import type { ActorContext, Connection } from "../ports.ts";
import type { Agent, AnyAgent } from "./definition.ts";
import type { Live } from "./live.ts";
import {
  identityFrame,
  mcpFrame,
  parseFrame,
  stateErrorFrame,
  stateFrame,
  type ClientFrame,
} from "./protocol.ts";
import { forHandlers, grantOf, type Grant } from "./grant.ts";
import { callOperation } from "./rpc.ts";
import type { StateHolder } from "./state.ts";

/** The WebSocket side of an instance. */
export interface Session {
  /** Accepts a connection and sends the first frames. */
  connect(request: Request, edit: boolean): Promise<Response>;
  onMessage(connection: Connection, message: string | Uint8Array): Promise<void>;
  onClose(connection: Connection, code: number, reason: string): Promise<void>;
}

/** What a session works with. */
export interface SessionDeps {
  readonly context: ActorContext;
  readonly definition: AnyAgent;
  readonly className: string;
  readonly agent: string;
  readonly state: StateHolder;
  readonly live: Live;
  readonly api: () => Agent;
}

/** The WebSocket side of an instance. */
export function startSession(deps: SessionDeps): Session {
  const { context, definition, state, live } = deps;
  // A client's first message waits until its onConnect is through.
  const connecting = new Map<string, Promise<unknown>>();

  async function connect(request: Request, edit: boolean): Promise<Response> {
    const query = new URL(request.url).searchParams;
    const since = positionOf(query.get("since"));
    const id = connectionId(query.get("_pk")) ?? context.system.id();
    const isBarred = definition.shouldConnectionBeReadonly?.(request) === true;
    const grant: Grant = {
      edit,
      readonly: !(edit && definition.clientState === true) || isBarred,
      follows: since !== null,
      silent: definition.shouldSendProtocolMessages?.(request) === false,
      own: undefined,
    };
    // A frame that still waits is for the others: this connection gets the state in its greeting.
    state.flush();
    const tags = definition.connectionTags?.(request) ?? [];
    const response = context.sockets.accept(request, { id, tags, attachment: grant });
    const connection = context.sockets.connections().find((one) => one.id === id);
    if (connection === undefined) return response;
    if (!grant.silent) greet(deps, connection);
    const opened = open(deps, connection, request, since);
    connecting.set(id, opened);
    context.system.waitUntil(opened.finally(() => connecting.delete(id)));
    return response;
  }

  return {
    connect,
    async onMessage(connection, message) {
      await connecting.get(connection.id);
      const frame = typeof message === "string" ? parseFrame(message) : null;
      await reported(deps, connection, async () => {
        if (frame !== null) await onFrame(deps, connection, frame);
        else await definition.onMessage?.(deps.api(), forHandlers(connection), message);
      });
    },
    async onClose(connection, code, reason) {
      live.unsubscribe(connection);
      await reported(deps, connection, () =>
        definition.onClose?.(deps.api(), forHandlers(connection), code, reason),
      );
    },
  };
}

function greet({ className, context, state }: SessionDeps, connection: Connection): void {
  const current = state.current();
  connection.send(identityFrame(context.name, className, current !== undefined));
  if (current !== undefined) connection.send(stateFrame(current));
  connection.send(mcpFrame);
}

/** Runs a handler; what it throws goes to `onError`, or without one to the runtime's log. */
async function reported(
  { api, definition }: SessionDeps,
  connection: Connection,
  work: () => unknown,
): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (definition.onError === undefined) throw error;
    await definition.onError(api(), error, forHandlers(connection));
  }
}

/** The client's own id of the connection. It can claim any: an equal one replaces the older connection. */
function connectionId(text: string | null): string | null {
  return text !== null && /^[\w.:-]{1,128}$/.test(text) ? text : null;
}

/** A position in the feed from a query or header; null when there is none. */
export function positionOf(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

async function open(
  deps: SessionDeps,
  connection: Connection,
  request: Request,
  since: number | null,
): Promise<void> {
  const { api, definition, live } = deps;
  try {
    await definition.onConnect?.(api(), forHandlers(connection), request);
    if (since !== null) live.subscribe(connection, since);
  } catch (error) {
    // 1011 = the server met a condition that it did not expect (RFC 6455 section 7.4.1).
    connection.close(1011, "The connection could not be set up");
    await reported(deps, connection, () => {
      throw error;
    });
  }
}

async function onFrame(
  deps: SessionDeps,
  connection: Connection,
  frame: ClientFrame,
): Promise<void> {
  const { context, definition, live, state } = deps;
  if (frame.type === "rpc") {
    const { sql, system } = context;
    return callOperation({ ...deps, sql, system, grant: grantOf(connection) }, connection, frame);
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
    // The official server keeps the reason to itself, too.
    connection.send(stateErrorFrame("State update rejected"));
    return;
  }
  await definition.onStateChanged?.(deps.api(), frame.state, "client");
}
