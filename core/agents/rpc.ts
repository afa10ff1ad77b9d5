import { ApiError } from "../http/api-error.ts";
import type { Connection, Plain, Sql, System } from "../ports.ts";
import { SqlError } from "../sql-error.ts";
import {
  builtInCallables,
  type Agent,
  type AnyAgent,
  type Callable,
  type StreamReply,
} from "./definition.ts";
import { readEvents } from "./events.ts";
import type { Grant } from "./grant.ts";
import { errorFrame, resultFrame, type ClientFrame } from "./protocol.ts";
import type { StateHolder } from "./state.ts";

/** What a call of a client works with. */
export interface CallDeps {
  readonly sql: Sql;
  readonly system: System;
  readonly definition: AnyAgent;
  readonly agent: string;
  readonly state: StateHolder;
  readonly grant: Grant;
  readonly api: () => Agent;
}

type Call = Extract<ClientFrame, { type: "rpc" }>;

/** Runs one call of a client and answers it. Streams run beside the mailbox, so that they do not hold it. */
export async function callOperation(
  deps: CallDeps,
  connection: Connection,
  frame: Call,
): Promise<void> {
  const { id, method, args } = frame;
  try {
    const found = findCallable(deps, method);
    if (typeof found === "object" && found.streaming === true) {
      deps.system.waitUntil(stream(deps, connection, frame, found.run));
      return;
    }
    const run = typeof found === "function" ? found : found.run;
    const result = await run(deps.api(), ...(args as never[]));
    // A state that the call has set arrives before its result.
    deps.state.flush();
    connection.send(resultFrame(id, result, true));
  } catch (error) {
    connection.send(errorFrame(id, messageOf(error)));
  }
}

/** Own members of the allow-list only: no prototype, no framework method is reachable. */
function findCallable(deps: CallDeps, method: string): Callable<Plain> {
  const shown = method.slice(0, 64);
  const own = deps.definition.callable ?? {};
  const found = Object.hasOwn(own, method) ? own[method] : builtIn(deps, method);
  if (found === undefined) {
    const exists = Object.hasOwn(deps.api(), method);
    throw new ApiError("not_found", {
      message: exists ? `Method ${shown} is not callable` : `Method ${shown} does not exist`,
    });
  }
  if (typeof found === "object" && found.edit === true && !deps.grant.edit) {
    throw new ApiError("forbidden", {
      message: `Method ${shown} needs the permission "Agents Edit"`,
    });
  }
  return found;
}

function builtIn(deps: CallDeps, method: string): Callable<Plain> | undefined {
  const { sql } = deps;
  const [getEvents, getEventsByType] = builtInCallables;
  if (method === getEvents) return (_, limit: unknown) => readEvents(sql, deps.agent, { limit });
  if (method !== getEventsByType) return undefined;
  return (_, type: unknown, limit: unknown) => {
    if (typeof type !== "string")
      throw new ApiError("invalid_request", { message: "type must be a string" });
    return readEvents(sql, deps.agent, { type, limit });
  };
}

async function stream(
  deps: CallDeps,
  connection: Connection,
  { id, args }: Call,
  run: (agent: Agent, stream: StreamReply, ...args: never[]) => unknown,
): Promise<void> {
  let closed = false;
  const finish = (frame: string): void => {
    if (closed) return;
    closed = true;
    connection.send(frame);
  };
  const reply: StreamReply = {
    get isClosed() {
      return closed;
    },
    send(chunk) {
      if (closed) return false;
      if (!connection.send(resultFrame(id, chunk, false))) closed = true;
      return !closed;
    },
    end: (result) => {
      finish(resultFrame(id, result, true));
    },
    error: (message) => {
      finish(errorFrame(id, message));
    },
  };
  try {
    await run(deps.api(), reply, ...(args as never[]));
    reply.end();
  } catch (error) {
    reply.error(messageOf(error));
  }
}

/** What a client may read of an error: the message that the agent's author gave it, nothing of the database's. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof SqlError) return "Internal error";
  return error.message;
}
