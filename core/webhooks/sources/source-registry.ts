import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Retention } from "../../entity/event.ts";
import { ApiError } from "../../http/api-error.ts";
import type { Platform } from "../../ports.ts";
import { checkForward } from "../inbound/forward.ts";
import { nameSpaces } from "../inbound/name-space.ts";
import { prepareSource, type WebhookSource } from "../inbound/source.ts";
import type { SourceOptions } from "../inbound/source-options.ts";
import {
  joinSource,
  type SourceMasters,
  type SourceSealer,
  sourceSealer,
} from "./source-secrets.ts";
import {
  type SourceList,
  type StoredSource,
  storedSourcesKind,
  type StoredSourcesMethods,
} from "./stored-sources.ts";

type Configured = Readonly<Record<string, SourceOptions>>;

export interface SourceSet {
  /** The sources that receive, by name: those of the configuration, and the stored ones. */
  readonly ready: ReadonlyMap<string, WebhookSource>;
  /** The options of those that receive. */
  readonly options: Configured;
  readonly stored: readonly StoredSource[];
  /** Why a stored source cannot receive, by name. */
  readonly broken: ReadonlyMap<string, string>;
}

/** The sources of an account: those of the configuration, and those that are made while servers run. */
export interface SourceRegistry {
  readonly store: ActorClient<StoredSourcesMethods>;
  readonly sealer: SourceSealer;
  /** The sources of the configuration. */
  readonly declared: ReadonlyMap<string, WebhookSource>;
  /**
   * The source of a request. A declared one is found without asking anybody; a stored one as it is now. Throws 503 for one
   * that is stored, but cannot receive.
   */
  find(name: string): Promise<WebhookSource | undefined>;
  /** All sources as they are now. */
  present(): Promise<SourceSet>;
  /** Throws `TypeError` if a source cannot be right, by itself or beside the others. */
  check(name: string, options: SourceOptions): Promise<void>;
}

/** The options of {@link sourceRegistry}. */
interface RegistryOptions extends SourceMasters {
  readonly platform: Platform;
  readonly account: string;
  readonly retention: Retention;
  readonly sources: Configured;
  readonly agentClasses?: readonly string[] | undefined;
}

/** Time after which a declared source looks whether there are other stored ones beside it, in ms. */
const STALE_MS = 1000;
/** Name of the source for paths whose first segment is not a source. */
export const FALLBACK = "default";

/** Makes the registry of an account. Throws `TypeError` if a source of the configuration cannot be right. */
export function sourceRegistry(options: RegistryOptions): SourceRegistry {
  const { actors, system } = options.platform;
  actors.define(storedSourcesKind);
  const store = actorClient<StoredSourcesMethods>(
    actors.get(storedSourcesKind.name, options.account),
  );
  const sealer = sourceSealer(store, options, system);
  const isStillAlone = async (name: string): Promise<boolean> =>
    (await present()).ready.get(name)?.space.isAlone ?? false;
  const { alone, assemble, problemOf } = startAssembly(options, sealer, isStillAlone);
  const declared = alone.ready;
  let version = "";
  let set = alone;
  let askedAt = 0;

  /** The set that is being put together: all requests that come meanwhile wait for the one. */
  let coming: { readonly version: string; readonly set: Promise<SourceSet> } | undefined;

  async function present(): Promise<SourceSet> {
    askedAt = system.monotonic();
    const newer = await store.newer(version);
    // Another request may have put them together while this one waited for the list.
    if (newer === null || newer.version === version) return set;
    // A runtime may end a request while others wait for what it asks for: they share only what needs no answer.
    if (newer.all.length > 0) await sealer.ready();
    if (coming?.version !== newer.version)
      coming = { version: newer.version, set: assemble(newer) };
    const mine = coming;
    try {
      const next = await mine.set;
      ({ version } = newer);
      return (set = next);
    } finally {
      if (coming === mine) coming = undefined;
    }
  }

  /** Whether a name is found without asking: it is declared, or what is not a source has a declared one. */
  const isDeclared = (name: string): boolean =>
    declared.has(name) || (declared.has(FALLBACK) && !set.ready.has(name) && !set.broken.has(name));

  return {
    store,
    sealer,
    declared,
    present,
    async find(name) {
      if (version === "" || !isDeclared(name)) await present();
      else if (system.monotonic() - askedAt > STALE_MS)
        system.waitUntil(present().catch(() => undefined));
      const ready = set.ready.get(name);
      const reason = set.broken.get(name);
      if (ready !== undefined || reason === undefined) return ready;
      throw new ApiError("unavailable", {
        message: `The webhook source cannot receive: ${reason}`,
      });
    },
    async check(name, source) {
      const { options: all } = await present();
      const others = Object.fromEntries(Object.entries(all).filter(([other]) => other !== name));
      const reason = problemOf(others, name, source);
      if (reason !== null) throw new TypeError(reason);
    },
  };
}

/** Puts the sources together. */
interface Assembly {
  /** Those of the configuration. */
  readonly alone: SourceSet;
  /** Those, and the stored ones that fit beside them. */
  readonly assemble: (list: SourceList) => Promise<SourceSet>;
  /** The reason why a source does not fit among others; null if it does. */
  readonly problemOf: (others: Configured, name: string, source: SourceOptions) => string | null;
}

const TAKEN = "The configuration has a source of this name";
const LOST =
  "its secrets cannot be opened with the master secret of now; delete it and make it again";

function startAssembly(
  { account, agentClasses, platform, retention, sources: configured }: RegistryOptions,
  sealer: SourceSealer,
  isStillAlone: (name: string) => Promise<boolean>,
): Assembly {
  const prepare = (all: Configured, names: readonly string[]): [string, WebhookSource][] => {
    const spaceOf = nameSpaces(all);
    return names.map((name) => {
      // `as`: the names are those of the record.
      const source = all[name] as SourceOptions;
      const space = spaceOf(name);
      const own = { space, isStillAlone: () => isStillAlone(name) };
      return [
        name,
        prepareSource(name, source, { account, agentClasses, retention, platform, ...own }),
      ];
    });
  };
  const problemAmong: ProblemAmong = (others, added) => {
    try {
      prepare({ ...others, ...added }, Object.keys(added));
      return null;
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      return error.message;
    }
  };
  const problemOf: Assembly["problemOf"] = (others, name, source) =>
    Object.hasOwn(others, name) ? TAKEN : problemAmong(others, { [name]: source });
  const setOf = (
    options: Configured,
    stored: SourceSet["stored"],
    broken: SourceSet["broken"],
  ): SourceSet => {
    const ready = new Map(prepare(options, Object.keys(options)));
    return { ready, options, stored, broken };
  };
  for (const [name, source] of Object.entries(configured))
    checkForward(source, `webhook source "${name}"`);
  const alone = setOf(configured, [], new Map());

  return {
    alone,
    problemOf,
    async assemble({ all }) {
      if (all.length === 0) return alone;
      const broken = new Map<string, string>();
      const fitting = new Map(Object.entries(configured));
      const opened: [string, SourceOptions][] = [];
      for (const { name, sealed, settings } of all) {
        const secrets = await sealer.open(name, sealed);
        if (secrets === null) broken.set(name, LOST);
        else if (fitting.has(name)) broken.set(name, TAKEN);
        else opened.push([name, joinSource(settings, secrets)]);
      }
      addFitting(opened, problemAmong, { fitting, broken });
      for (const [source, reason] of broken)
        platform.log("warn", "A stored webhook source cannot receive", { source, reason });
      return setOf(Object.fromEntries(fitting), all, broken);
    },
  };
}

/** Returns why sources cannot be right beside others; null if they are. */
type ProblemAmong = (others: Configured, added: Configured) => string | null;

/** Sources that can receive, and the reasons why others cannot, by name. */
interface Fitted {
  readonly fitting: Map<string, SourceOptions>;
  readonly broken: Map<string, string>;
}

/**
 * Adds the sources that fit: all at once where they do, else by halves. Each try looks at the name spaces of all, so one for
 * each source would take the cube of their number.
 */
function addFitting(
  added: readonly (readonly [string, SourceOptions])[],
  problemAmong: ProblemAmong,
  { fitting, broken }: Fitted,
): void {
  const [first] = added;
  if (first === undefined) return;
  const reason = problemAmong(Object.fromEntries(fitting), Object.fromEntries(added));
  if (reason === null) for (const [name, source] of added) fitting.set(name, source);
  else if (added.length === 1) broken.set(first[0], reason);
  else {
    const middle = Math.ceil(added.length / 2);
    addFitting(added.slice(0, middle), problemAmong, { fitting, broken });
    addFitting(added.slice(middle), problemAmong, { fitting, broken });
  }
}
