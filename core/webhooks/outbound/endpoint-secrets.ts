import { toBase64 } from "../../crypto/encoding.ts";
import type { ActorContext, SqlRow } from "../../ports.ts";
import type { KeyType } from "./outbound-schema.ts";
import type { Sealer } from "./sealer.ts";

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

export function endpointSecrets({ system }: ActorContext, sealer: Sealer): EndpointSecrets {
  const sealed = async (endpoint: string, secret: string): Promise<StoredSecret> => ({
    sealed: await sealer.seal(endpoint, secret),
    expires: null,
  });
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
      const secrets = live(row).map((one) => sealer.open(String(row["id"]), one.sealed));
      return (await Promise.all(secrets)).filter((secret) => secret !== null);
    },
  };
}
