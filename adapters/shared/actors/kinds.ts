import { ApiError } from "../../../core/http/api-error.ts";
import type { ActorKind } from "../../../core/ports.ts";

/** Whether a kind is to be registered; false for the same one again. Throws `internal` for another of the same name. */
export function isNewKind(kinds: ReadonlyMap<string, ActorKind>, kind: ActorKind): boolean {
  const known = kinds.get(kind.name);
  if (known === kind) return false;
  if (known === undefined && !kind.name.includes("\0")) return true;
  const message = `Another actor kind is already named "${kind.name}"`;
  throw new ApiError("internal", { message });
}

/** Returns the kind of a name; throws `internal` for an unknown one. */
export function kindOf(kinds: ReadonlyMap<string, ActorKind>, name: string): ActorKind {
  const kind = kinds.get(name);
  if (kind !== undefined) return kind;
  throw new ApiError("internal", { message: `No actor kind "${name.slice(0, 64)}" is defined` });
}
