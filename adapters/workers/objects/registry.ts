import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind, AsyncLocal, Log } from "../../../core/ports.ts";
import type { WorkerEnv } from "../env/worker-env.ts";
import { objectWrites, type ObjectWrites } from "./write-state.ts";

/** The data that the Durable Objects of one platform share. */
export interface ObjectSpace {
  readonly kinds: Map<string, ActorKind>;
  readonly log: Log;
  /** The first delay after a failed alarm, in ms. */
  readonly alarmBackoffMs: number;
  /** The time between two looks at silent connections, in ms. */
  readonly lookMs: number | undefined;
  readonly asyncLocal: AsyncLocal | undefined;
  readonly writes: ObjectWrites;
}

/**
 * The platforms of this isolate by prefix, and how to make the Worker's own. It has to be the module's state:
 * a Durable Object wakes in an isolate that may never have served a request, and shares nothing with the
 * Worker's `fetch` but this module.
 */
const spaces: Map<string, ObjectSpace> = new Map();

let builder: ((env: WorkerEnv) => void) | undefined;

/** Names what builds the app, and by that defines the kinds, in an isolate that a Durable Object wakes. */
export function setBuilder(build: (env: WorkerEnv) => void): void {
  builder = build;
}

/** Registers a platform; one made again for the same prefix keeps the kinds. */
export function openSpace(
  prefix: string,
  settings: Omit<ObjectSpace, "kinds" | "writes">,
): ObjectSpace {
  const before = spaces.get(prefix);
  const space: ObjectSpace = {
    ...settings,
    kinds: before?.kinds ?? new Map<string, ActorKind>(),
    writes: before?.writes ?? objectWrites(settings.log),
  };
  spaces.set(prefix, space);
  return space;
}

/** Registers a kind; see `Actors.define`. */
export function defineKind(prefix: string, kind: ActorKind): void {
  const kinds = spaces.get(prefix)?.kinds;
  const before = kinds?.get(kind.name);
  if (before !== undefined && before !== kind) {
    throw new ApiError("internal", {
      message: `Another actor kind is already named "${kind.name}"`,
    });
  }
  kinds?.set(kind.name, kind);
}

/** Returns a kind and the space that it lives in, after building the app if need be. */
export function findKind(
  prefix: string,
  kind: string,
  env: WorkerEnv,
): { space: ObjectSpace; kind: ActorKind } {
  if (spaces.get(prefix)?.kinds.has(kind) !== true) builder?.(env);
  const space = spaces.get(prefix);
  const found = space?.kinds.get(kind);
  if (space !== undefined && found !== undefined) return { space, kind: found };
  throw new ApiError("internal", {
    message: `No actor kind "${kind.slice(0, 64)}" is defined: make the Worker with worker()`,
  });
}

/** Whether the kind is defined, or may become so when the app is built. */
export function mayBeKind(prefix: string, kind: string): boolean {
  return builder !== undefined || spaces.get(prefix)?.kinds.has(kind) === true;
}

/** Forgets a platform and its kinds. */
export function closeSpace(prefix: string): void {
  spaces.delete(prefix);
}

/** Names of the objects that hold open sockets: a shutdown that one can see coming closes them. */
export const socketHolders: Set<string> = new Set();
