import type { ActorRef, Actors, Plain, System } from "../../../core/ports.ts";
import { ApiError } from "../../../core/http/api-error.ts";
import { responseOf, valueOf, type CallOutcome } from "../../shared/actors/call-outcome.ts";
import { hasNativeName, objectName, parseObjectName } from "./object-name.ts";
import { defineKind, mayBeKind, socketHolders } from "./registry.ts";
import type { ObjectNamespace } from "../env/worker-env.ts";
import type { ObjectWrites } from "./write-state.ts";

/** A stub of `CauseyObject`. */
interface Stub {
  invoke(name: string, method: string, args: readonly Plain[]): Promise<CallOutcome>;
  identify(name: string): Promise<void>;
  closeSockets(code: number, reason: string): Promise<void>;
  fetch(request: Request): Promise<Response>;
}

/** Makes the directory of actors: each is the Durable Object of its name. */
export function objectActors(
  namespace: ObjectNamespace,
  prefix: string,
  writes: ObjectWrites,
): Actors {
  return {
    define: (kind) => {
      defineKind(prefix, kind);
    },
    get(kind, name) {
      const ref = actorRef(namespace, objectName({ prefix, kind, name }), writes);
      const defined = (): void => {
        if (mayBeKind(prefix, kind)) return;
        throw new ApiError("internal", {
          message: `No actor kind "${kind.slice(0, 64)}" is defined`,
        });
      };
      return {
        async call(method, ...args) {
          defined();
          return ref.call(method, ...args);
        },
        async fetch(request) {
          defined();
          return ref.fetch(request);
        },
      };
    },
  };
}

function actorRef(namespace: ObjectNamespace, name: string, writes: ObjectWrites): ActorRef {
  const fresh = (): Stub => namespace.get(namespace.idFromName(name)) as Stub;
  // One stub per reference: only calls over one stub are sure to arrive in the order in which they were made.
  let stub: Stub | undefined;

  async function over<T>(use: (stub: Stub) => Promise<T>): Promise<T> {
    try {
      stub ??= fresh();
      return await use(stub);
    } catch (error) {
      stub = undefined;
      if (!isForeignRequest(error)) throw fromPlatform(error, writes);
      // Nothing was sent: the reference outlived the request in which its stub was made.
      stub = fresh();
      return use(stub);
    }
  }
  return {
    async call(method, ...args) {
      return valueOf(await over((at) => at.invoke(name, method, args)));
    },
    async fetch(request) {
      const response = await over(async (at) => {
        if (!hasNativeName(name)) await at.identify(name);
        return at.fetch(request);
      });
      return responseOf(response);
    },
  };
}

function isForeignRequest(error: unknown): boolean {
  return (
    error instanceof Error &&
    /on behalf of a different (?:request|Durable Object)/.test(error.message)
  );
}

/**
 * Makes an error of the platform itself retryable: an object that was reset, is overloaded, or could not be opened. For a
 * failed commit it says only "internal error"; errors of our own code come as data.
 */
function fromPlatform(error: unknown, writes: ObjectWrites): unknown {
  if (error instanceof ApiError || !(error instanceof Error)) return error;
  const isRefused = /\bSQLITE_(?:FULL|NOMEM|IOERR)/u.test(error.message);
  const isBroken = error.message.startsWith("internal error");
  if (isRefused) writes.refused(error.message);
  if (isBroken) writes.broke(error.message);
  if (isRefused || isBroken) return unavailable(error);
  const marks = error as Error & {
    readonly retryable?: boolean;
    readonly overloaded?: boolean;
    readonly durableObjectReset?: boolean;
  };
  if (marks.retryable !== true && marks.overloaded !== true && marks.durableObjectReset !== true)
    return error;
  return unavailable(error);
}

function unavailable(cause: Error): ApiError {
  return new ApiError("unavailable", { headers: { "retry-after": "1" }, cause });
}

/** How long {@link closeAllSockets} waits for the clients' answers, in ms. */
const CLOSE_WAIT_MS = 1000;

/**
 * Closes with 1001 the connections of every object of a platform that this isolate knows to have some, and
 * waits a little for their actors to hear of it.
 */
export async function closeAllSockets(
  namespace: ObjectNamespace,
  prefix: string,
  system: System,
): Promise<void> {
  const holders = (): string[] =>
    [...socketHolders].filter((name) => parseObjectName(name).prefix === prefix);
  const closing = holders().map((name) => {
    const stub = namespace.get(namespace.idFromName(name)) as Stub;
    return stub.closeSockets(1001, "The server is shutting down");
  });
  await Promise.allSettled(closing);
  for (let waited = 0; waited < CLOSE_WAIT_MS && holders().length > 0; waited += 5)
    await system.sleep(5);
}
