import { kebab } from "../../entity/kebab.ts";
import { checkName } from "../../entity/name.ts";
import type { SourceOptions } from "./source-options.ts";

/** The name space of a source's entities: its own, or that of its group. */
export interface NameSpace {
  /** Prefix of names that the entity alone would not make unique: the source's name, or its group's. */
  readonly prefix: string;
  /** Sources whose entities are also this one's: itself first, its former names, and those of its group. */
  readonly owners: readonly string[];
  /** The owners of all other spaces that feed the agent class. */
  readonly others: readonly string[];
  /** Whether no other space feeds the agent class: then the plain names of removed sources belong to this one. */
  readonly isAlone: boolean;
  /** Whether its new entities have the prefix in any case. */
  readonly isPrefixed: boolean;
  /**
   * Prefixes of all spaces that feed the class, so that an entity whose name begins with one is not mistaken for
   * theirs.
   */
  readonly prefixes: readonly string[];
  /**
   * The space to which the configuration reserves the plain name of an entity: this one, another, or none (first come,
   * first served).
   */
  reservation(entity: string): "own" | "other" | "none";
}

/** Separates the prefix from the entity. Prefixes cannot contain it, so two pairs never make one name. */
const SEPARATOR = ":";

/** The name of an entity's instance behind the prefix of its space. */
export function prefixedName({ prefix }: Pick<NameSpace, "prefix">, entity: string): string {
  return checkName(prefix + SEPARATOR + entity);
}

/** Whether a plain name could be mistaken for that of another entity, with its prefix. */
export function looksPrefixed({ prefixes }: Pick<NameSpace, "prefixes">, entity: string): boolean {
  return (
    entity.includes(SEPARATOR) && prefixes.some((prefix) => entity.startsWith(prefix + SEPARATOR))
  );
}

/** The configuration of all spaces, which each of them reads. */
interface Spaces {
  readonly sources: readonly (readonly [name: string, options: SourceOptions])[];
  /** The space to which a plain name is reserved, by class and entity; null if several spaces claim it. */
  readonly reserved: ReadonlyMap<string, string | null>;
}

/**
 * The name spaces of sources. Throws `TypeError` when two unrelated sources are given the same entity, or when a group
 * has the name of a source outside of it: their names would collide.
 */
export function nameSpaces(
  configured: Readonly<Record<string, SourceOptions>>,
): (name: string, options: SourceOptions) => NameSpace {
  const sources = Object.entries(configured);
  for (const [name, options] of sources) {
    const group = sources.find(([, other]) => other.group === name);
    if (group !== undefined && options.group !== name) {
      throw new TypeError(
        `The group "${name}" has the name of a webhook source outside of it: rename one of the two`,
      );
    }
  }
  const spaces = { sources, reserved: reservations(sources) };
  return (name, options) => nameSpace(spaces, name, options);
}

function nameSpace({ reserved, sources }: Spaces, name: string, options: SourceOptions): NameSpace {
  const space = spaceOf(name, options);
  const members = sources.filter(([key, one]) => spaceOf(key, one) === space);
  const others = members.filter(([key]) => key !== name);
  const own: readonly [string, SourceOptions] = [name, options];
  const feeding = sources.filter(([, one]) => classOf(one) === classOf(options));
  const foreign = feeding.filter(([key, one]) => spaceOf(key, one) !== space);
  const prefixes = new Set(feeding.map(([key, one]) => prefixOf(key, one)));
  return {
    prefix: prefixOf(name, options),
    owners: namesOf([own, ...others]),
    others: namesOf(foreign),
    isAlone: prefixes.size <= 1,
    isPrefixed: [own, ...others].some(([, { prefixed = false }]) => prefixed),
    prefixes: [...prefixes],
    reservation(entity) {
      const found = reserved.size === 0 ? undefined : reserved.get(keyOf(options, entity));
      return found == null ? "none" : found === space ? "own" : "other";
    },
  };
}

function namesOf(sources: Spaces["sources"]): string[] {
  return [...new Set(sources.flatMap(([name, { formerNames = [] }]) => [name, ...formerNames]))];
}

/** Sources that feed one agent class without sharing their entities, by class; logged at the start. */
export function sharedClasses(
  configured: Readonly<Record<string, SourceOptions>>,
): ReadonlyMap<string, readonly string[]> {
  const classes = new Map<string, Map<string, string[]>>();
  for (const [name, options] of Object.entries(configured)) {
    const prefixes = classes.get(classOf(options)) ?? new Map<string, string[]>();
    const prefix = prefixOf(name, options);
    prefixes.set(prefix, [...(prefixes.get(prefix) ?? []), name]);
    classes.set(classOf(options), prefixes);
  }
  const met = [...classes].filter(([, prefixes]) => prefixes.size > 1);
  return new Map(
    met.map(([agent, prefixes]) => [
      agent,
      [...prefixes].map(([prefix, names]) =>
        names.length === 1 && names[0] === prefix ? prefix : `${prefix} (${names.join(", ")})`,
      ),
    ]),
  );
}

function reservations(sources: Spaces["sources"]): Map<string, string | null> {
  const reserved = new Map<string, string | null>();
  const namedBy = new Map<string, string>();
  for (const [name, options] of sources) {
    const space = spaceOf(name, options);
    for (const entity of options.entities ?? []) {
      const key = keyOf(options, checkName(entity));
      const other = namedBy.get(key);
      if (other !== undefined && reserved.get(key) !== space) {
        throw new TypeError(
          `The webhook sources "${other}" and "${name}" are both given the entity "${entity}": put them into one group`,
        );
      }
      reserved.set(key, space);
      namedBy.set(key, name);
    }
  }
  for (const [name, options] of sources) {
    const space = spaceOf(name, options);
    for (const entity of Object.keys(options.entitySecrets ?? {})) {
      const key = keyOf(options, checkName(entity));
      // A listed entity takes precedence; of two entity secrets neither does.
      if (namedBy.has(key)) continue;
      const known = reserved.get(key);
      reserved.set(key, known === undefined || known === space ? space : null);
    }
  }
  return reserved;
}

/** A source without a group has a space of its own, which no group can name. */
function spaceOf(name: string, { group }: SourceOptions): string {
  return group === undefined ? `source/${name}` : `group/${group}`;
}

function prefixOf(name: string, { group = name }: SourceOptions): string {
  return group.replaceAll("%", "%25").replaceAll(SEPARATOR, "%3A");
}

/** Entities of one name are different ones in different agent classes. */
function keyOf(options: SourceOptions, entity: string): string {
  return `${classOf(options)}/${entity}`;
}

function classOf({ agent = "webhook-agent" }: SourceOptions): string {
  return kebab(agent);
}
