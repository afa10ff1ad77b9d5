import { toBase64 } from "../../crypto/encoding.ts";
import { seal, sealingKey, unseal, type SealingKey } from "../../crypto/seal.ts";
import type { ActorContext, SqlRow } from "../../ports.ts";
import type { KeyType } from "./outbound-schema.ts";

/** Most opened secrets that are remembered. */
const KNOWN_LIMIT = 1000;
/** Most secrets of one endpoint that sign at the same time. */
const SECRET_LIMIT = 10;

/** The sealed secrets of the endpoints of an account; the column `secrets` holds them as JSON. */
export interface EndpointSecrets {
  /** A fresh secret in the form of Standard Webhooks: `whsec_…` or `whsk_…`. */
  fresh(type: KeyType): string;
  /** The column's text for an endpoint with this one secret. */
  first(endpoint: string, secret: string): Promise<string>;
  /** The column's text after a rotation: the old ones go on for `graceMs`. */
  rotated(row: SqlRow, secret: string, graceMs: number): Promise<string>;
  /** The live secrets of an endpoint, newest first. */
  open(row: SqlRow): Promise<string[]>;
}

interface StoredSecret {
  readonly sealed: string;
  /** Unix ms; null while it is the newest. */
  readonly expires: number | null;
}

/** The secrets of an account's endpoints, sealed with `master`, or with a key made at first use. */
export function endpointSecrets(
  context: ActorContext,
  master: string | undefined,
  former: readonly string[] = [],
): EndpointSecrets {
  const { system, name } = context;
  let key: Promise<SealingKey> | undefined;
  let oldKeys: Promise<SealingKey[]> | undefined;
  const sealing = (): Promise<SealingKey> => (key ??= loadKey(context, master));
  const boundTo = (endpoint: string): string => `${name}/${endpoint}`;

  async function sealed(endpoint: string, secret: string): Promise<StoredSecret> {
    const text = await seal(await sealing(), secret, boundTo(endpoint), system.random(12));
    return { sealed: text, expires: null };
  }
  /** Secrets by their sealed form: a busy endpoint's is opened once, not for every attempt. */
  const known = new Map<string, Promise<string | null>>();
  function opened(endpoint: string, text: string): Promise<string | null> {
    let secret = known.get(text);
    if (secret === undefined) {
      if (known.size >= KNOWN_LIMIT) known.clear();
      secret = unsealed(endpoint, text);
      known.set(text, secret);
      secret.catch(() => known.delete(text));
    }
    return secret;
  }
  async function unsealed(endpoint: string, text: string): Promise<string | null> {
    const secret = await unseal(await sealing(), text, boundTo(endpoint));
    if (secret !== null || master === undefined) return secret;
    for (const old of await (oldKeys ??= loadOldKeys(context, former))) {
      const found = await unseal(old, text, boundTo(endpoint));
      if (found !== null) return found;
    }
    return null;
  }
  const live = (row: SqlRow): StoredSecret[] => {
    const stored = JSON.parse(String(row["secrets"])) as StoredSecret[];
    return stored.filter(({ expires }) => expires === null || expires > system.now());
  };

  return {
    fresh: (type) => `${type === "hmac" ? "whsec" : "whsk"}_${toBase64(system.random(32))}`,
    first: async (endpoint, secret) => JSON.stringify([await sealed(endpoint, secret)]),
    async rotated(row, secret, graceMs) {
      const end = system.now() + graceMs;
      const old = live(row).map((one) => ({
        sealed: one.sealed,
        expires: Math.min(one.expires ?? end, end),
      }));
      const newest = await sealed(String(row["id"]), secret);
      return JSON.stringify([newest, ...old].slice(0, SECRET_LIMIT));
    },
    async open(row) {
      const secrets = live(row).map((one) => opened(String(row["id"]), one.sealed));
      return (await Promise.all(secrets)).filter((secret) => secret !== null);
    },
  };
}

/** Without a master secret of the operator's, one is made at first use and kept beside the data. */
async function loadKey(context: ActorContext, master: string | undefined): Promise<SealingKey> {
  if (master !== undefined) return sealingKey(master, "webhooks");
  const [, selected] = await context.sql.batch([
    {
      sql: "INSERT INTO webhooks_keys (actor, master) VALUES (?, ?) ON CONFLICT (actor) DO NOTHING",
      params: [context.name, toBase64(context.system.random(32))],
    },
    { sql: "SELECT master FROM webhooks_keys WHERE actor = ?", params: [context.name] },
  ]);
  return sealingKey(String(selected?.rows[0]?.["master"]), "webhooks");
}

/** Keys that sealed before the master secret of now: those that the operator names, and the database's own. */
async function loadOldKeys(
  context: ActorContext,
  former: readonly string[],
): Promise<SealingKey[]> {
  const rows = await context.sql.all("SELECT master FROM webhooks_keys WHERE actor = ?", [
    context.name,
  ]);
  const own = rows.map((row) => String(row["master"]));
  return Promise.all([...former, ...own].map((secret) => sealingKey(secret, "webhooks")));
}
