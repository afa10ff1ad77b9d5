import type { Wire } from "../../../core/ports.ts";
import type { ChromiumProcess } from "./chromium-process.ts";

/** Many independent DevTools connections over the one pipe of a browser. */
export interface Mux {
  /** Opens a connection with its own browser session: what it sets up ends when it is closed. */
  connect(): Promise<Wire>;
  /** Connections that are open. */
  readonly open: number;
}

interface Caller {
  readonly link: Link | null;
  /** The id that the caller chose. */
  readonly id: number;
  /** For the mux's own calls. */
  readonly done?: (message: string) => void;
}

interface Link {
  readonly session: string;
  readonly messages: Set<(message: string) => void>;
  readonly closes: Set<(reason: string) => void>;
  closed: string | null;
}

interface State {
  readonly process: ChromiumProcess;
  readonly callers: Map<number, Caller>;
  /** Which connection a DevTools session belongs to. */
  readonly sessions: Map<string, Link>;
  nextId: number;
  gone: string | null;
}

/** Splits a browser's pipe into independent connections: ids are renumbered, events go to whose session they are. */
export function muxConnections(process: ChromiumProcess): Mux {
  const state: State = { process, callers: new Map(), sessions: new Map(), nextId: 1, gone: null };
  const links = new Set<Link>();
  process.onMessage((message) => receive(state, message));
  process.onExit((reason) => {
    state.gone = reason;
    for (const [, caller] of state.callers)
      caller.done?.(JSON.stringify({ error: { message: reason } }));
    state.callers.clear();
    for (const link of links) closeLink(link, reason);
    links.clear();
  });
  return {
    get open() {
      return links.size;
    },
    async connect() {
      const session = await attach(state);
      const link: Link = { session, messages: new Set(), closes: new Set(), closed: state.gone };
      state.sessions.set(session, link);
      links.add(link);
      return wire(state, link, () => links.delete(link));
    },
  };
}

async function attach(state: State): Promise<string> {
  const answer = await new Promise<string>((done) => {
    if (state.gone !== null) return done(JSON.stringify({ error: { message: state.gone } }));
    const id = state.nextId++;
    state.callers.set(id, { link: null, id, done });
    state.process.send(JSON.stringify({ id, method: "Target.attachToBrowserTarget" }));
  });
  const message = JSON.parse(answer) as {
    result?: { sessionId?: string };
    error?: { message?: string };
  };
  const session = message.result?.sessionId;
  if (session === undefined)
    throw new Error(message.error?.message ?? "The browser refused a connection");
  return session;
}

function wire(state: State, link: Link, forget: () => void): Wire {
  return {
    send(message) {
      if (link.closed !== null) return;
      if (typeof message !== "string") return state.process.send(renumbered(state, link, message));
      const call = JSON.parse(message) as { id: number; sessionId?: string };
      const id = state.nextId++;
      state.callers.set(id, { link, id: call.id });
      state.process.send(
        JSON.stringify({ ...call, id, sessionId: call.sessionId ?? link.session }),
      );
    },
    onMessage: (listener) => link.messages.add(listener),
    onClose: (listener) => {
      if (link.closed === null) link.closes.add(listener);
      else listener(link.closed);
    },
    close() {
      if (link.closed !== null) return;
      forget();
      for (const [session, owner] of state.sessions)
        if (owner === link) state.sessions.delete(session);
      for (const [id, caller] of state.callers) if (caller.link === link) state.callers.delete(id);
      const id = state.nextId++;
      const params = { sessionId: link.session };
      // Contexts made with disposeOnDetach end with their session.
      state.process.send(JSON.stringify({ id, method: "Target.detachFromTarget", params }));
      closeLink(link, "The connection was closed");
    },
  };
}

const callHead = /^\{"id":(?<id>\d+)(?:,"sessionId":"(?<session>[^"]*)")?/u;

/** A long call with the ids of this connection: only its head is looked at. */
function renumbered(state: State, link: Link, message: Iterable<string>): Iterable<string> {
  const parts = message[Symbol.iterator]();
  const first = String(parts.next().value ?? "");
  const { id = "0", session = link.session } = callHead.exec(first)?.groups ?? {};
  const own = state.nextId++;
  state.callers.set(own, { link, id: Number(id) });
  const head = `{"id":${own},"sessionId":${JSON.stringify(session)}`;
  return withFirst(
    first.replace(callHead, () => head),
    parts,
    link,
  );
}

/** What waits for its turn when its connection is closed is not sent; what has begun has to come to its end. */
function* withFirst(
  first: string,
  parts: Iterator<string>,
  link: Link,
): Generator<string, void, void> {
  if (link.closed !== null) return;
  yield first;
  for (let next = parts.next(); next.done !== true; next = parts.next()) yield next.value;
}

function closeLink(link: Link, reason: string): void {
  if (link.closed !== null) return;
  link.closed = reason;
  for (const listener of link.closes) listener(reason);
}

function receive(state: State, message: string): void {
  const id = /^\{"id":(\d+)/u.exec(message);
  if (id === null) return route(state, message);
  const number = Number(id[1]);
  const caller = state.callers.get(number);
  if (caller === undefined) return;
  state.callers.delete(number);
  if (caller.done !== undefined) return caller.done(message);
  if (caller.link === null) return;
  // Answers can be many megabytes (a PDF): they are cut at the ends, not parsed.
  const tail = `,"sessionId":"${caller.link.session}"}`;
  const body = message.slice(id[0].length);
  deliver(
    caller.link,
    `{"id":${caller.id}${body.endsWith(tail) ? `${body.slice(0, -tail.length)}}` : body}`,
  );
}

interface DevToolsEvent {
  readonly method: string;
  readonly params: { readonly sessionId?: string };
  readonly sessionId?: string;
}

function route(state: State, message: string): void {
  const event = JSON.parse(message) as DevToolsEvent;
  const link = event.sessionId === undefined ? undefined : state.sessions.get(event.sessionId);
  if (link === undefined) return;
  const child = event.params.sessionId;
  if (child !== undefined && event.method === "Target.attachedToTarget")
    state.sessions.set(child, link);
  if (child !== undefined && event.method === "Target.detachedFromTarget")
    state.sessions.delete(child);
  const { sessionId, ...bare } = event;
  deliver(link, sessionId === link.session ? JSON.stringify(bare) : message);
}

function deliver(link: Link, message: string): void {
  for (const listener of link.messages) listener(message);
}
