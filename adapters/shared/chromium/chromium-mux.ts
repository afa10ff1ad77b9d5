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
  /** Sees the answer before the caller does. */
  readonly answered?: (message: string) => void;
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
  /** Which connection a DevTools session belongs to, and a browser context. */
  readonly sessions: Map<string, Link>;
  readonly contexts: Map<string, Link>;
  /** Whether the browser attaches the mux to every target; null before anybody has asked for that. */
  attaching: Promise<string> | null;
  nextId: number;
  gone: string | null;
}

/**
 * Splits a browser's pipe into independent connections: ids are renumbered, and each event goes to the owner of its
 * session. The mux attaches to each target once and knows whose browser context it is in. So a connection that attaches to
 * all targets does not hear of those of others, and a new page is not attached by every connection.
 */
export function muxConnections(process: ChromiumProcess): Mux {
  const state: State = {
    process,
    callers: new Map(),
    sessions: new Map(),
    contexts: new Map(),
    attaching: null,
    nextId: 1,
    gone: null,
  };
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
  const answer = await askBrowser(state, "Target.attachToBrowserTarget");
  const message = JSON.parse(answer) as {
    result?: { sessionId?: string };
    error?: { message?: string };
  };
  const session = message.result?.sessionId;
  if (session === undefined)
    throw new Error(message.error?.message ?? "The browser refused a connection");
  return session;
}

/** Calls a method of the browser for the mux itself; the answer as it came. */
function askBrowser(state: State, method: string, params: object = {}): Promise<string> {
  return new Promise((done) => {
    if (state.gone !== null) return done(JSON.stringify({ error: { message: state.gone } }));
    const id = state.nextId++;
    state.callers.set(id, { link: null, id, done });
    state.process.send(JSON.stringify({ id, method, params }));
  });
}

/** Attaches the mux to all targets, once for all connections, and answers the connection that asked. */
function autoAttach(state: State, link: Link, call: Call): void {
  state.attaching ??= askBrowser(state, call.method, call.params);
  void state.attaching.then((answer) =>
    deliver(
      link,
      answer.replace(/^\{"id":\d+/u, () => `{"id":${call.id}`),
    ),
  );
}

/** A command as it is sent over a connection. */
interface Call {
  readonly id: number;
  readonly method: string;
  readonly params?: object;
  readonly sessionId?: string;
}

function wire(state: State, link: Link, forget: () => void): Wire {
  return {
    send(message) {
      if (link.closed !== null) return;
      if (typeof message !== "string") return state.process.send(renumbered(state, link, message));
      const call = JSON.parse(message) as Call;
      if (call.method === "Target.setAutoAttach" && call.sessionId === undefined)
        return autoAttach(state, link, call);
      const id = state.nextId++;
      const owns = call.method === "Target.createBrowserContext";
      const answered = owns ? { answered: (text: string) => noteContext(state, link, text) } : {};
      state.callers.set(id, { link, id: call.id, ...answered });
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
      for (const [context, owner] of state.contexts)
        if (owner === link) state.contexts.delete(context);
      for (const [id, caller] of state.callers) if (caller.link === link) state.callers.delete(id);
      const id = state.nextId++;
      const params = { sessionId: link.session };
      // Contexts made with disposeOnDetach end with their session.
      state.process.send(JSON.stringify({ id, method: "Target.detachFromTarget", params }));
      closeLink(link, "The connection was closed");
    },
  };
}

function noteContext(state: State, link: Link, answer: string): void {
  const { result } = JSON.parse(answer) as { result?: { browserContextId?: string } };
  if (result?.browserContextId !== undefined) state.contexts.set(result.browserContextId, link);
}

const callHead = /^\{"id":(?<id>\d+)(?:,"sessionId":"(?<session>[^"]*)")?/u;

/** Returns a long call with the ids of this connection: only its head is looked at. */
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

/**
 * Iterates over the parts of a command. A command still queued when its connection closes is not sent; a begun one is
 * completed.
 */
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
  caller.answered?.(message);
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
  readonly params: {
    readonly sessionId?: string;
    readonly targetInfo?: { readonly type: string; readonly browserContextId?: string };
  };
  readonly sessionId?: string;
}

function route(state: State, message: string): void {
  const event = JSON.parse(message) as DevToolsEvent;
  const child = event.params.sessionId;
  const link =
    event.sessionId === undefined
      ? ownerOf(state, event)
      : (state.sessions.get(event.sessionId) ?? null);
  if (child !== undefined && event.method === "Target.attachedToTarget") {
    if (link !== null) state.sessions.set(child, link);
    // A session of the browser is one that a connection has asked for.
    else if (event.params.targetInfo?.type !== "browser") leave(state, child);
  }
  if (child !== undefined && event.method === "Target.detachedFromTarget")
    state.sessions.delete(child);
  if (link === null) return;
  const { sessionId, ...bare } = event;
  deliver(link, sessionId === link.session ? JSON.stringify(bare) : message);
}

/** Returns the connection that an event is for: the one that owns the target's browser context. */
function ownerOf(state: State, { method, params }: DevToolsEvent): Link | null {
  if (method === "Target.attachedToTarget")
    return state.contexts.get(params.targetInfo?.browserContextId ?? "") ?? null;
  return method === "Target.detachedFromTarget"
    ? (state.sessions.get(params.sessionId ?? "") ?? null)
    : null;
}

/** Detaches from a target that no connection owns, such as the page that a browser starts with. */
function leave(state: State, session: string): void {
  const resume = { id: state.nextId++, method: "Runtime.runIfWaitingForDebugger" };
  state.process.send(JSON.stringify({ ...resume, sessionId: session }));
  const detach = { id: state.nextId++, method: "Target.detachFromTarget" };
  state.process.send(JSON.stringify({ ...detach, params: { sessionId: session } }));
}

function deliver(link: Link, message: string): void {
  for (const listener of link.messages) listener(message);
}
