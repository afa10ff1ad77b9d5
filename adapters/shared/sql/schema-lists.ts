import type { ActorKind, SharedSchema } from "../../../core/ports.ts";

/** Returns the lists of steps that make a kind's tables, in order, each with the name that its count is kept under. */
export function schemasOf(kind: ActorKind): readonly SharedSchema[] {
  if (kind.shared === undefined) return [{ name: kind.name, steps: kind.schema }];
  // A name of its own: a kind that once counted both lists as one must not take that count for one of them.
  return [kind.shared, { name: `${kind.name}/own`, steps: kind.schema }];
}
