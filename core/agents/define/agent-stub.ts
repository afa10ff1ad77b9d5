import { agentKindName } from "../../entity/kebab.ts";
import { checkName } from "../../entity/name.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Actors, Plain } from "../../ports.ts";
import { builtInCallables } from "./built-in.ts";
import type { EventRecord } from "../../entity/event.ts";

/** The part of an agent class that calls need. */
export interface CallableClass<Calls extends object> {
  readonly name: string;
  /** The definition's. */
  readonly callable: Calls;
}

type RunOf<C> = C extends { readonly run: infer Run } ? Run : C;
type Rest<Args> = Args extends readonly [unknown, ...infer Others]
  ? Others
  : Args extends readonly []
    ? []
    : readonly Plain[];
type Method<C> =
  RunOf<C> extends (...args: infer Args) => infer Result
    ? (...args: Rest<Args>) => Promise<Awaited<Result>>
    : never;

/** The callables of an instance as methods, without those that stream. Arguments and results cross as JSON. */
export type AgentStub<Calls extends object = object> = {
  readonly [
    Name in keyof Calls as Calls[Name] extends { readonly streaming: true } ? never : Name
  ]: Method<Calls[Name]>;
} & {
  /** The newest events first. @default 20 of them */
  getEvents(limit?: number): Promise<EventRecord[]>;
  getEventsByType(type: string, limit?: number): Promise<EventRecord[]>;
};

/** A callable that waits for another instance. */
export type Caller = {
  /** Class and name. */
  readonly agent: string;
  readonly method: string;
  readonly exclusive: boolean;
};

/** A call made by code, as it is handed to the instance; see {@link agentStub}. */
export type CodeCall = {
  readonly method: string;
  /** JSON of the list of arguments. */
  readonly args: string;
  /** The callers that wait for the result, the first one first. */
  readonly chain: readonly Caller[];
  /** Longest time in ms, waiting included; undefined = the callable's own. */
  readonly ms: number | undefined;
};

/** Longest list of arguments as JSON, in characters: as long as a client's message may be. */
const ARGS_LIMIT = 1024 * 1024;

/**
 * A stub for the instance with that name. Each call asks `caller` which runs wait for it and how long they may wait.
 */
export function agentStub<Calls extends object>(
  actors: Pick<Actors, "get">,
  { callable, name: className }: CallableClass<Calls>,
  name: string,
  caller: () => Pick<CodeCall, "chain" | "ms">,
): AgentStub<Calls> {
  const ref = actors.get(agentKindName(className), checkName(name));
  const methods = [...Object.keys(callable), ...builtInCallables].map(
    (method) =>
      [
        method,
        async (...args: readonly Plain[]): Promise<unknown> => {
          const call = { method, args: encodeArgs(args), ...caller() };
          const result = await ref.call("call", call);
          return typeof result === "string" ? (JSON.parse(result) as unknown) : undefined;
        },
      ] as const,
  );
  // `as`: the type says that each member is a method.
  return Object.freeze(Object.fromEntries(methods)) as AgentStub<Calls>;
}

function encodeArgs(args: readonly Plain[]): string {
  const text = JSON.stringify(args);
  if (text.length <= ARGS_LIMIT) return text;
  throw new ApiError("too_large", {
    message: `The arguments are over ${ARGS_LIMIT} characters of JSON`,
  });
}
