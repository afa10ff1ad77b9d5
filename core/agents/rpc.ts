import { ApiError } from "../http/api-error.ts";
import type { Connection, Plain } from "../ports.ts";
import { SqlError } from "../sql-error.ts";
import type { RunHandler } from "./agent-api.ts";
import type { Deadline } from "./deadline.ts";
import {
  builtInCallables,
  type AnyAgent,
  type Callable,
  type Operation,
  type StreamReply,
} from "./definition.ts";
import type { EventReader } from "./events.ts";
import type { Grant } from "./grant.ts";
import { errorFrame, resultFrame, type ClientFrame } from "./protocol.ts";
import type { Slots } from "./slots.ts";
import type { StateHolder } from "./state.ts";

/** What a call of a client works with. */
export interface CallDeps {
  readonly definition: AnyAgent;
  readonly events: EventReader;
  readonly state: StateHolder;
  readonly grant: Grant;
  readonly run: RunHandler;
  /** Lets the instance's exclusive callables run one after another. */
  readonly exclusive: Slots;
}

type Call = Extract<ClientFrame, { type: "rpc" }>;

/** Runs one call of a client and answers it. */
export async function callOperation(
  deps: CallDeps,
  connection: Connection,
  frame: Call,
): Promise<void> {
  const { id, method, args } = frame;
  try {
    const found = await findCallable(deps, method);
    if (typeof found === "object" && found.streaming === true) {
      await stream(deps, connection, frame, found);
      return;
    }
    const result = await runOperation(deps, method, found, args);
    // A state that the call has set arrives before its result.
    deps.state.flush();
    connection.send(resultFrame(id, result, true));
  } catch (error) {
    connection.send(errorFrame(id, messageOf(error)));
  }
}

type PlainCallable = Exclude<Callable<Plain>, { readonly streaming: true }>;
type StreamCallable = Extract<Callable<Plain>, { readonly streaming: true }>;

function runOperation(
  { exclusive, run }: CallDeps,
  method: string,
  found: PlainCallable,
  args: readonly Plain[],
): Promise<unknown> {
  const settings = typeof found === "function" ? { run: found } : found;
  const work = (): Promise<unknown> => {
    const operation: Operation<Plain> = settings.run;
    return run(nameOf(method), (api) => operation(api, ...(args as never[])), settings.timeoutMs);
  };
  return settings.exclusive === true ? exclusive(work) : work();
}

function nameOf(method: string): string {
  return `Method ${method.slice(0, 64)}`;
}

/** Own members of the allow-list only: no prototype, no framework method is reachable. */
async function findCallable(deps: CallDeps, method: string): Promise<Callable<Plain>> {
  const own = deps.definition.callable ?? {};
  const found = Object.hasOwn(own, method) ? own[method] : builtIn(deps, method);
  if (found === undefined) {
    const exists = await deps.run("The look-up", (api) => Object.hasOwn(api, method));
    throw new ApiError("not_found", {
      message: `${nameOf(method)} ${exists ? "is not callable" : "does not exist"}`,
    });
  }
  if (typeof found === "object" && found.edit === true && !deps.grant.edit) {
    throw new ApiError("forbidden", {
      message: `${nameOf(method)} needs the permission "Agents Edit"`,
    });
  }
  return found;
}

function builtIn(deps: CallDeps, method: string): Callable<Plain> | undefined {
  const [getEvents, getEventsByType] = builtInCallables;
  if (method === getEvents) return (_, limit: unknown) => deps.events({ limit });
  if (method !== getEventsByType) return undefined;
  return (_, type: unknown, limit: unknown) => {
    if (typeof type !== "string")
      throw new ApiError("invalid_request", { message: "type must be a string" });
    return deps.events({ type, limit });
  };
}

function stream(
  { run }: CallDeps,
  connection: Connection,
  { id, method, args }: Call,
  found: StreamCallable,
): Promise<void> {
  let closed = false;
  const finish = (frame: string): void => {
    if (closed) return;
    closed = true;
    connection.send(frame);
  };
  const replyIn = ({ check, extend }: Deadline): StreamReply => ({
    get isClosed() {
      return closed;
    },
    send(chunk) {
      check();
      extend();
      if (closed) return false;
      if (!connection.send(resultFrame(id, chunk, false))) closed = true;
      return !closed;
    },
    end: (result) => {
      check();
      finish(resultFrame(id, result, true));
    },
    error: (message) => {
      check();
      finish(errorFrame(id, message));
    },
  });
  const work = run(
    nameOf(method),
    (api, deadline) => found.run(api, replyIn(deadline), ...(args as never[])),
    found.timeoutMs,
  );
  return work.then(
    () => {
      finish(resultFrame(id, undefined, true));
    },
    (error: unknown) => {
      finish(errorFrame(id, messageOf(error)));
    },
  );
}

/** What a client may read of an error: the message that the agent's author gave it, nothing of the database's. */
function messageOf(error: unknown): string {
  if (!(error instanceof Error) || error instanceof SqlError) return "Internal error";
  return error.message;
}
