import { kebab } from "../../entity/kebab.ts";
import { checkName } from "../../entity/name.ts";
import type { SourceOptions } from "./source-options.ts";

/** Whose entities a source may write. */
export interface Ownership {
  /** Names of the sources whose entities are also this one's: itself first, its former names, and those of its group. */
  readonly owners: readonly string[];
  /** Whether the configuration gives an entity to this source or its group, to others, or to whoever comes first. */
  reservation(entity: string): "own" | "other" | "none";
}

/**
 * Who owns which entities. An entity belongs to the source that wrote to it first, unless the configuration gives it to
 * one. Throws `TypeError` when two that share nothing are given the same.
 */
export function ownerships(
  sources: Readonly<Record<string, SourceOptions>>,
): (name: string, options: SourceOptions) => Ownership {
  const reserved = new Map<string, { readonly group: string; readonly name: string }>();
  for (const [name, options] of Object.entries(sources)) {
    const group = groupOf(name, options);
    const { entities = [], entitySecrets = {} } = options;
    for (const entity of [...entities, ...Object.keys(entitySecrets)]) {
      const key = keyOf(options, checkName(entity));
      const other = reserved.get(key);
      if (other !== undefined && other.group !== group) {
        throw new TypeError(
          `The webhook sources "${other.name}" and "${name}" are both given the entity "${entity}": put them into one group`,
        );
      }
      reserved.set(key, { group, name });
    }
  }
  return (name, options) => {
    const group = groupOf(name, options);
    const members = Object.entries(sources).filter(([key, one]) => groupOf(key, one) === group);
    const others = members.filter(([key]) => key !== name);
    const own: readonly [string, SourceOptions] = [name, options];
    const names = [own, ...others].flatMap(([key, { formerNames = [] }]) => [key, ...formerNames]);
    return {
      owners: [...new Set(names)],
      reservation(entity) {
        if (reserved.size === 0) return "none";
        const found = reserved.get(keyOf(options, entity));
        return found === undefined ? "none" : found.group === group ? "own" : "other";
      },
    };
  };
}

/** Sources without a group are alone in one that no other can name. */
function groupOf(name: string, { group }: SourceOptions): string {
  return group === undefined ? `source/${name}` : `group/${group}`;
}

/** Entities of one name are different ones in different agent classes. */
function keyOf({ agent = "webhook-agent" }: SourceOptions, entity: string): string {
  return `${kebab(agent)}/${entity}`;
}
