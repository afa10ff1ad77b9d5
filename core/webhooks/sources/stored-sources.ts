import type { ActorContext, ActorKind, Plain, Sql } from "../../ports.ts";

/** Most sources that are made through the API. */
const SOURCE_LIMIT = 200;

/** A source that was made through the API. Plain, because it crosses to an actor. */
export type StoredSource = {
  readonly name: string;
  /** The settings without the secrets among them. */
  readonly settings: { readonly [member: string]: Plain };
  /** The secrets, sealed. */
  readonly sealed: string;
  /** The ends of its secrets (Unix ms), of those without an end null. */
  readonly expiries: readonly (number | null)[];
  /** Changes with each change. */
  readonly revision: string;
  /** Unix ms. */
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** The id of the token that changed it last. */
  readonly modifiedBy: string;
};

/** All stored sources by name; `version` changes with them. */
export type SourceList = { readonly version: string; readonly all: readonly StoredSource[] };

/** The methods of the actor that holds the stored sources of an account. */
export interface StoredSourcesMethods {
  /** The sources; null if they are those of `version`. */
  newer(version: string): SourceList | null;
  /** Makes a source; resolves to the reason why it could not. */
  create(source: StoredSource): Promise<"taken" | "full" | null>;
  /** Replaces a source, unless it is no longer of that revision; resolves to whether it did. */
  replace(source: StoredSource, revision: string): Promise<boolean>;
  /** Resolves to whether there was such a source. */
  remove(name: string): Promise<boolean>;
  /** The secret that seals where the operator gave none: the stored one, or from now on `fresh`. */
  master(fresh: string): Promise<string>;
}

const PUT = `INSERT INTO webhooks_sources (actor, name, source) VALUES (?, ?, ?)
  ON CONFLICT (actor, name) DO UPDATE SET source = excluded.source`;

/** The actor that holds the sources which are made through the API, for all processes; named by the account. */
export const storedSourcesKind: ActorKind = {
  name: "webhooks-sources",
  schema: [
    `CREATE TABLE webhooks_sources (
      actor TEXT NOT NULL, name TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (actor, name))`,
    "CREATE TABLE webhooks_source_keys (actor TEXT PRIMARY KEY, master TEXT NOT NULL)",
  ],
  interleaved: ["newer"],
  detached: {
    methods: {
      async newer({ name, sql }, known: string): Promise<SourceList | null> {
        const all = await readSources(sql, name);
        const version = `rows ${all.map(({ revision }) => revision).join(" ")}`;
        return known === version ? null : { version, all };
      },
      master: ({ name, sql }, fresh: string) => readMaster(sql, name, fresh),
    },
  },
  async start({ name: actor, sql, system }: ActorContext) {
    const stored = await readSources(sql, actor);
    const all = new Map(stored.map((source) => [source.name, source]));
    let version = system.id();
    const put = async (source: StoredSource): Promise<void> => {
      await sql.batch([{ sql: PUT, params: [actor, source.name, JSON.stringify(source)] }]);
      all.set(source.name, source);
      version = system.id();
    };
    const methods: StoredSourcesMethods = {
      newer: (known) => (known === version ? null : { version, all: [...all.values()] }),
      async create(source) {
        if (all.has(source.name)) return "taken";
        if (all.size >= SOURCE_LIMIT) return "full";
        await put(source);
        return null;
      },
      async replace(source, revision) {
        if (all.get(source.name)?.revision !== revision) return false;
        await put(source);
        return true;
      },
      async remove(name) {
        if (!all.has(name)) return false;
        const gone = "DELETE FROM webhooks_sources WHERE actor = ? AND name = ?";
        await sql.batch([{ sql: gone, params: [actor, name] }]);
        all.delete(name);
        version = system.id();
        return true;
      },
      master: (fresh) => readMaster(sql, actor, fresh),
    };
    return { methods: { ...methods } };
  },
};

async function readSources(sql: Pick<Sql, "all">, actor: string): Promise<StoredSource[]> {
  const query = "SELECT source FROM webhooks_sources WHERE actor = ? ORDER BY name";
  const rows = await sql.all(query, [actor]);
  // `as`: rows of our own.
  return rows.map((row) => JSON.parse(String(row["source"])) as StoredSource);
}

async function readMaster(sql: Pick<Sql, "batch">, actor: string, fresh: string): Promise<string> {
  const keep = `INSERT INTO webhooks_source_keys (actor, master) VALUES (?, ?)
    ON CONFLICT (actor) DO NOTHING`;
  const select = "SELECT master FROM webhooks_source_keys WHERE actor = ?";
  const [, kept] = await sql.batch([
    { sql: keep, params: [actor, fresh] },
    { sql: select, params: [actor] },
  ]);
  return String(kept?.rows[0]?.["master"]);
}
