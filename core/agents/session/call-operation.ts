import { ApiError, storageFailure, invalidRequest, conflict } from "../../http/api-error.ts";
import type { ActorContext, Connection, Plain } from "../../ports.ts";
import { SqlError } from "../../sql/sql-error.ts";
import { timeOf, type RunHandler } from "../handlers/agent-api.ts";
import { builtInCallables } from "../define/built-in.ts";
import { withDeadline, type Deadline } from "../turns/deadline.ts";
import type { AnyAgent, Callable, AgentOperation, StreamReply } from "../define/definition.ts";
import type { Agent } from "../define/agent.ts";
import type { EventReader } from "../events/events.ts";
import type { ConnectionGrant } from "../protocol/grant.ts";
import { errorFrame, resultFrame, type ClientFrame } from "../protocol/protocol.ts";
import type { Slots } from "../turns/slots.ts";
import type { StateHolder } from "../state/state.ts";
import type { Caller, CodeCall } from "../define/agent-stub.ts";

interface OperationDeps {
  /** Class and name. */
  readonly agent: string;
  readonly definition: AnyAgent;
  readonly events: EventReader;
  readonly run: RunHandler;
  /** Runs the instance's exclusive callables one after another. */
  readonly exclusive: Slots;
}

export interface CallDeps extends OperationDeps {
  readonly state: StateHolder;
  readonly grant: ConnectionGrant;
  /** Aborted when the client has left. */
  readonly left: AbortSignal;
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
    const found = await findCallable(deps, method, deps.grant);
    if (typeof found === "object" && found.streaming === true) {
      await stream(deps, connection, frame, found);
      return;
    }
    const result = await runOperation(deps, { method, found, args, chain: [] });
    // A state that the call has set arrives before its result.
    deps.state.flush();
    connection.send(resultFrame(id, result, true));
  } catch (error) {
    connection.send(errorFrame(id, messageOf(error)));
  }
}

type PlainCallable = Exclude<Callable<Plain>, { readonly streaming: true }>;
type StreamCallable = Extract<Callable<Plain>, { readonly streaming: true }>;

interface OperationRun {
  readonly method: string;
  readonly found: PlainCallable;
  readonly args: readonly Plain[];
  readonly chain: readonly Caller[];
  readonly deadline?: Deadline | undefined;
}

function runOperation(
  { agent, exclusive, run }: OperationDeps,
  { method, found, args, chain, deadline }: OperationRun,
): Promise<unknown> {
  const settings = typeof found === "function" ? { run: found } : found;
  const self = { agent, method, exclusive: settings.exclusive === true };
  const work = (): Promise<unknown> => {
    const operation: AgentOperation<Plain> = settings.run;
    deadline?.check();
    const ms = deadline?.left() ?? settings.timeoutMs;
    const call = (api: Agent): unknown => operation(api, ...(args as never[]));
    return run(nameOf(method), call, { ms, limit: deadline?.limit, chain: [...chain, self] });
  };
  return self.exclusive ? exclusive(work) : work();
}

/** Longest chain of calls that wait for each other: a longer one is taken for an endless loop. */
const CHAIN_LIMIT = 32;

/** Runs one call of the program's own code, which may call everything; resolves to JSON. */
export async function callByCode(
  deps: OperationDeps & { readonly context: Pick<ActorContext, "system"> },
  { args, chain, method, ms = Infinity }: CodeCall,
): Promise<string | undefined> {
  const found = await findCallable(deps, method, { edit: true });
  if (typeof found === "object" && found.streaming === true) {
    const message = `${nameOf(method)} streams: only connections can call it`;
    throw invalidRequest(message);
  }
  checkChain(chain, { agent: deps.agent, method, exclusive: isExclusive(found) });
  const own = (typeof found === "object" ? found.timeoutMs : undefined) ?? timeOf(deps.definition);
  // The time includes waiting for other exclusive calls.
  const result = await withDeadline(
    deps.context.system,
    { ms: Math.min(own, ms) },
    nameOf(method),
    (deadline) =>
      runOperation(deps, { method, found, args: JSON.parse(args) as Plain[], chain, deadline }),
  );
  return JSON.stringify(result);
}

function isExclusive(found: Callable<Plain>): boolean {
  return typeof found === "object" && found.streaming !== true && found.exclusive === true;
}

/** Refuses a call that would wait for itself until its time is over. */
function checkChain(chain: readonly Caller[], call: Caller): void {
  const path = [...chain, call].map(({ agent, method }) => `${agent}.${method}`).join(" → ");
  if (call.exclusive && chain.some(({ agent, exclusive }) => exclusive && agent === call.agent)) {
    throw conflict(`${nameOf(call.method)} is exclusive and would wait for itself: ${path}`);
  }
  if (chain.length >= CHAIN_LIMIT) {
    const message = `More than ${CHAIN_LIMIT} agents wait for each other: ${path.slice(0, 512)}`;
    throw conflict(message);
  }
}

function nameOf(method: string): string {
  return `Method ${method.slice(0, 64)}`;
}

/** Own members of the allow-list only: no prototype, no framework method is reachable. */
async function findCallable(
  deps: OperationDeps,
  method: string,
  grant: Pick<ConnectionGrant, "edit">,
): Promise<Callable<Plain>> {
  const own = deps.definition.callable ?? {};
  const found = Object.hasOwn(own, method) ? own[method] : builtIn(deps, method);
  if (found === undefined) {
    const exists = await deps.run("The look-up", (api) => Object.hasOwn(api, method));
    throw new ApiError("not_found", {
      message: `${nameOf(method)} ${exists ? "is not callable" : "does not exist"}`,
    });
  }
  if (typeof found === "object" && found.edit === true && !grant.edit) {
    throw new ApiError("forbidden", {
      message: `${nameOf(method)} needs the permission "Agents Edit"`,
    });
  }
  return found;
}

function builtIn(deps: OperationDeps, method: string): Callable<Plain> | undefined {
  const [getEvents, getEventsByType] = builtInCallables;
  if (method === getEvents) return (_, limit: unknown) => deps.events({ limit });
  if (method !== getEventsByType) return undefined;
  return (_, type: unknown, limit: unknown) => {
    if (typeof type !== "string") throw invalidRequest("type must be a string");
    return deps.events({ type, limit });
  };
}

function stream(
  { left, run }: CallDeps,
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
      return closed || left.aborted;
    },
    send(chunk) {
      check();
      extend();
      if (closed || left.aborted) return false;
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
    { ms: found.timeoutMs, left },
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

/** The part of an error that a client may read: the message of the agent's author, and nothing from the database. */
function messageOf(error: unknown): string {
  if (error instanceof Error && !(error instanceof SqlError)) return error.message;
  return storageFailure(error)?.message ?? "Internal error";
}
