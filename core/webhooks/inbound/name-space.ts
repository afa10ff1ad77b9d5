import { kebab } from "../../entity/kebab.ts";
import { checkName } from "../../entity/name.ts";
import type { SourceOptions } from "./source-options.ts";

/** The name space of a source's entities: its own, or that of its group. */
export interface NameSpace {
  /** Prefix of names that the entity alone would not make unique: the source's name, or its group's. */
  readonly prefix: string;
  /** Sources whose entities are also this one's: itself first, its former names, and those of its group. */
  readonly owners: readonly string[];
  /** Whether a name is that of a source of another space that feeds the agent class. */
  isForeign(owner: string): boolean;
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

/** One source with what its name and options say, read once: looking at all sources for each would take their square. */
interface Member {
  readonly name: string;
  readonly options: SourceOptions;
  readonly space: string;
  readonly agentClass: string;
  readonly prefix: string;
  /** Its name and its former ones. */
  readonly names: readonly string[];
}

/** The sources of one space. */
interface SpaceMembers {
  readonly members: Member[];
  isPrefixed: boolean;
}

/** The sources of one agent class. */
interface ClassMembers {
  readonly members: Member[];
  readonly prefixes: Set<string>;
  /** The spaces that have a source of a name, once somebody asked. */
  spacesOf?: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The configuration of all spaces, which each of them reads. */
interface Spaces {
  readonly bySpace: ReadonlyMap<string, SpaceMembers>;
  readonly byClass: ReadonlyMap<string, ClassMembers>;
  readonly reserved: Reservations;
}

/** The space to which a plain name is reserved, by class and entity; null if several spaces claim it. */
type Reservations = ReadonlyMap<string, ReadonlyMap<string, { readonly space: string | null }>>;

/**
 * The name spaces of sources. Throws `TypeError` when two unrelated sources are given the same entity, or when a group
 * has the name of a source outside of it: their names would collide.
 */
export function nameSpaces(
  configured: Readonly<Record<string, SourceOptions>>,
): (name: string) => NameSpace {
  const members = new Map(
    Object.entries(configured).map(([name, options]) => [name, memberOf(name, options)]),
  );
  const all = [...members.values()];
  const groups = new Set(all.map(({ options }) => options.group));
  for (const { name, options } of all) {
    if (groups.has(name) && options.group !== name) {
      throw new TypeError(
        `The group "${name}" has the name of a webhook source outside of it: rename one of the two`,
      );
    }
  }
  const bySpace = new Map<string, SpaceMembers>();
  const byClass = new Map<string, ClassMembers>();
  for (const member of all) {
    const space = bySpace.get(member.space) ?? { members: [], isPrefixed: false };
    space.members.push(member);
    space.isPrefixed ||= member.options.prefixed ?? false;
    bySpace.set(member.space, space);
    const feeding = byClass.get(member.agentClass) ?? { members: [], prefixes: new Set() };
    feeding.members.push(member);
    feeding.prefixes.add(member.prefix);
    byClass.set(member.agentClass, feeding);
  }
  const spaces = { bySpace, byClass, reserved: reservations(all) };
  return (name) => {
    const member = members.get(name);
    if (member === undefined) throw new TypeError(`There is no webhook source "${name}"`);
    return nameSpace(spaces, member);
  };
}

function memberOf(name: string, options: SourceOptions): Member {
  return {
    name,
    options,
    space: spaceOf(name, options),
    agentClass: classOf(options),
    prefix: prefixOf(name, options),
    names: [name, ...(options.formerNames ?? [])],
  };
}

function nameSpace({ bySpace, byClass, reserved }: Spaces, member: Member): NameSpace {
  const { space, agentClass, prefix } = member;
  const { members, isPrefixed } = bySpace.get(space) ?? { members: [member], isPrefixed: false };
  const feeding = byClass.get(agentClass) ?? { members: [member], prefixes: new Set([prefix]) };
  const prefixes = [...feeding.prefixes];
  const entities = reserved.get(agentClass);
  let owners: readonly string[] | undefined;
  return {
    prefix,
    get owners() {
      return (owners ??= [...new Set([member, ...members].flatMap(({ names }) => names))]);
    },
    isForeign(owner) {
      feeding.spacesOf ??= spacesByName(feeding.members);
      const having = feeding.spacesOf.get(owner);
      return having !== undefined && (having.size > 1 || !having.has(space));
    },
    isAlone: prefixes.length <= 1,
    isPrefixed,
    prefixes,
    reservation(entity) {
      const found = entities?.get(entity)?.space;
      return found == null ? "none" : found === space ? "own" : "other";
    },
  };
}

function spacesByName(members: readonly Member[]): Map<string, Set<string>> {
  const spaces = new Map<string, Set<string>>();
  for (const { names, space } of members)
    for (const name of names) {
      const having = spaces.get(name);
      if (having === undefined) spaces.set(name, new Set([space]));
      else having.add(space);
    }
  return spaces;
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

function reservations(all: readonly Member[]): Reservations {
  /** The space of an entity, with the source that lists it, if one does. */
  const reserved = new Map<string, Map<string, { space: string | null; listedBy?: string }>>();
  const ofClass = ({ agentClass }: Member) => {
    const known = reserved.get(agentClass) ?? new Map();
    reserved.set(agentClass, known);
    return known;
  };
  for (const member of all) {
    const { name, options, space } = member;
    if (options.entities === undefined) continue;
    const entities = ofClass(member);
    for (const entity of options.entities) {
      const other = entities.get(checkName(entity));
      if (other !== undefined && other.space !== space) {
        throw new TypeError(
          `The webhook sources "${other.listedBy}" and "${name}" are both given the entity "${entity}": put them into one group`,
        );
      }
      entities.set(entity, { space, listedBy: name });
    }
  }
  for (const member of all) {
    const { options, space } = member;
    if (options.entitySecrets === undefined) continue;
    const entities = ofClass(member);
    for (const entity of Object.keys(options.entitySecrets)) {
      const known = entities.get(checkName(entity));
      // A listed entity takes precedence; of two entity secrets neither does.
      if (known?.listedBy !== undefined) continue;
      const isOwn = known === undefined || known.space === space;
      entities.set(entity, { space: isOwn ? space : null });
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

function classOf({ agent = "webhook-agent" }: SourceOptions): string {
  return kebab(agent);
}
