import { ApiError } from "../../http/api-error.ts";
import type { System, Wire } from "../../ports.ts";
import { type Incoming, readMessage, sizeOfLong } from "./long-answer.ts";
import { callMessage } from "./call-message.ts";

/** The parameters or the result of a DevTools call. */
export type CdpData = Readonly<Record<string, unknown>>;

/** An event of the browser or of one of its targets. */
export interface CdpEvent {
  readonly method: string;
  readonly params: CdpData;
  /** The session of the target; absent for the browser's own. */
  readonly session: string | undefined;
}

/** A DevTools connection on which any number of sessions talk (flat protocol). */
export interface Cdp {
  /**
   * Calls a method of the browser, or of the target with the given session.
   *
   * @throws CdpError when the browser refuses
   * @throws ApiError `render_timeout` when it does not answer, `no_browser` when it is gone
   */
  call(method: string, params?: CdpData, session?: string): Promise<CdpData>;
  on(listener: (event: CdpEvent) => void): void;
  /** Ends every call that waits, with this error; nothing can be called after. */
  fail(error: unknown): void;
  /** Fails with the reason of a signal as soon as that is aborted; until what it returns is called. */
  endWith(signal: AbortSignal): () => void;
  /** Rejects with the error that ended the connection, for work that waits for something else than a call. */
  readonly ended: Promise<never>;
}

/** The browser refused a call. */
export class CdpError extends Error {
  override readonly name = "CdpError";
  readonly method: string;
  /** Bytes of the answer, where that was too long to be taken. */
  readonly size: number | undefined;
  constructor(method: string, message: string, size?: number) {
    super(message);
    this.method = method;
    this.size = size;
  }
}

export interface CdpOptions {
  readonly system: System;
  /** How long any single call may take, in ms. */
  readonly callMs: number;
}

interface Pending {
  readonly method: string;
  readonly resolve: (result: CdpData) => void;
  readonly reject: (error: unknown) => void;
  readonly due: number;
}

/** Methods whose callers parse a long answer themselves: it comes to them as `{ text }`. */
const longTexts: ReadonlySet<string> = new Set(["Accessibility.getFullAXTree"]);

/** Speaks DevTools over a wire. Every call ends: by its answer, its deadline, an abort, or the end of the wire. */
export function openCdp(wire: Wire, options: CdpOptions): Cdp {
  const { system, callMs } = options;
  const pending = new Map<number, Pending>();
  const listeners: ((event: CdpEvent) => void)[] = [];
  const { ended, failure, fail, endWith } = failOnce(pending);
  const watch = deadlineWatch(pending, system, failure);
  let nextId = 1;
  wire.onClose((reason) =>
    fail(
      new ApiError("no_browser", {
        message: `The browser went away: ${reason}`,
        headers: { "retry-after": "1" },
      }),
    ),
  );
  wire.onMessage((text) => {
    const takesText = (id: number): boolean => longTexts.has(pending.get(id)?.method ?? "");
    const message = readMessage(text, takesText);
    if (message.id !== undefined) return settle(pending, message.id, message);
    if (message.method === undefined || failure.aborted) return;
    const event = {
      method: message.method,
      params: message.params ?? {},
      session: message.sessionId,
    };
    for (const listener of listeners) listener(event);
  });
  return {
    call(method, params = {}, session) {
      if (failure.aborted) return Promise.reject(failure.reason);
      return new Promise((resolve, reject) => {
        const id = nextId++;
        pending.set(id, { method, resolve, reject, due: system.monotonic() + callMs });
        const target = session === undefined ? {} : { sessionId: session };
        wire.send(callMessage({ id, ...target, method }, params));
        watch();
      });
    },
    on: (listener) => void listeners.push(listener),
    fail,
    endWith,
    ended,
  };
}

interface Failing {
  readonly ended: Promise<never>;
  /** Aborted with the error that ended the connection. */
  readonly failure: AbortSignal;
  readonly fail: (error: unknown) => void;
  readonly endWith: Cdp["endWith"];
}

/** The one end of a connection: the first error ends every call that waits. */
function failOnce(pending: Map<number, Pending>): Failing {
  const failing = new AbortController();
  const { promise: ended, reject } = Promise.withResolvers<never>();
  // Each `await` of it still throws; this only prevents an unhandled rejection where there is none.
  ended.catch(() => undefined);
  const fail = (error: unknown): void => {
    if (failing.signal.aborted) return;
    failing.abort(error);
    reject(error);
    for (const call of pending.values()) call.reject(error);
    pending.clear();
  };
  const endWith = (signal: AbortSignal): (() => void) => {
    const end = (): void => fail(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true, signal: failing.signal });
    return () => signal.removeEventListener("abort", end);
  };
  return { ended, failure: failing.signal, fail, endWith };
}

/** Rejects calls that are overdue, with one sleeper for all of them that is awake only while there are any. */
function deadlineWatch(
  pending: Map<number, Pending>,
  system: System,
  failure: AbortSignal,
): () => void {
  let watching = false;
  const watch = async (): Promise<void> => {
    while (pending.size > 0) {
      const [first] = pending.values();
      await system.sleep(Math.max(1, (first?.due ?? 0) - system.monotonic()), failure);
      for (const [id, call] of pending) {
        if (call.due > system.monotonic()) break;
        pending.delete(id);
        const message = `The browser did not answer ${call.method} in time`;
        call.reject(new ApiError("render_timeout", { message }));
      }
    }
    watching = false;
  };
  return () => {
    if (watching) return;
    watching = true;
    // A rejected sleep means that the connection is over: its calls have been rejected already.
    watch().catch(() => undefined);
  };
}

function settle(pending: Map<number, Pending>, id: number, message: Incoming): void {
  const call = pending.get(id);
  if (call === undefined) return;
  pending.delete(id);
  if (message.error === undefined) call.resolve(message.result ?? {});
  else {
    const text = message.error.message ?? "unknown error";
    call.reject(new CdpError(call.method, text, sizeOfLong(message.error)));
  }
}
