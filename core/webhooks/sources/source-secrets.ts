import type { ActorClient } from "../../actors/actor-client.ts";
import { toBase64 } from "../../crypto/encoding.ts";
import { seal, sealingKey, type SealingKey, unseal } from "../../crypto/seal.ts";
import type { Plain, System } from "../../ports.ts";
import type { SourceSettings } from "../inbound/source-schema.ts";
import type { Secret } from "../signing/keys.ts";
import type { StoredSource, StoredSourcesMethods } from "./stored-sources.ts";

/** The members of a source that are sealed. */
export type SourceSecrets = Pick<SourceSettings, "entitySecrets" | "verifyToken"> & {
  readonly secrets: readonly Secret[];
};

/** Separates the secrets of a source from its other settings. */
export function splitSource(given: SourceSettings): {
  readonly settings: StoredSource["settings"];
  readonly secrets: SourceSecrets;
} {
  const { secret, secrets = [], entitySecrets, verifyToken, ...settings } = given;
  const list = [...(secret === undefined ? [] : [secret]), ...secrets];
  return {
    // `as`: what was read from JSON.
    settings: settings as unknown as StoredSource["settings"],
    secrets: {
      secrets: list.map((one) => (typeof one === "string" ? { secret: one } : one)),
      ...(entitySecrets && { entitySecrets }),
      ...(verifyToken !== undefined && { verifyToken }),
    },
  };
}

/** Puts a source together again. */
export function joinSource(
  settings: { readonly [member: string]: Plain },
  secrets: SourceSecrets,
): SourceSettings {
  // `as`: what `splitSource` separated.
  return { ...settings, ...secrets } as unknown as SourceSettings;
}

/** Seals the secrets of sources, each for its name. */
export interface SourceSealer {
  seal(name: string, secrets: SourceSecrets): Promise<string>;
  /** Loads the key, so that opening asks nobody. */
  ready(): Promise<void>;
  /** Resolves to null if they were sealed with a lost key. */
  open(name: string, sealed: string): Promise<SourceSecrets | null>;
}

/** The secrets that seal; without a master secret one is made and kept with the sources. */
export interface SourceMasters {
  readonly masterSecret?: string | undefined;
  readonly formerMasterSecrets?: readonly string[] | undefined;
}

const PURPOSE = "webhook-sources";

export function sourceSealer(
  store: Pick<ActorClient<StoredSourcesMethods>, "master">,
  { masterSecret, formerMasterSecrets = [] }: SourceMasters,
  system: Pick<System, "random">,
): SourceSealer {
  const keys = new Map<string, SealingKey>();
  /** The key of a secret; null stands for the kept one. */
  async function keyOf(master: string | null): Promise<SealingKey> {
    let key = keys.get(master ?? "");
    if (key === undefined) {
      const secret = master ?? (await store.master(toBase64(system.random(32))));
      key = await sealingKey(secret, PURPOSE);
      keys.set(master ?? "", key);
    }
    return key;
  }
  return {
    async ready() {
      await keyOf(masterSecret ?? null);
    },
    async seal(name, secrets) {
      const key = await keyOf(masterSecret ?? null);
      return seal(key, JSON.stringify(secrets), name, system.random(12));
    },
    async open(name, sealed) {
      const given = masterSecret === undefined ? [] : [masterSecret, ...formerMasterSecrets];
      for (const master of [...given, null]) {
        const text = await unseal(await keyOf(master), sealed, name);
        // `as`: what `seal` was given.
        if (text !== null) return JSON.parse(text) as SourceSecrets;
      }
      return null;
    },
  };
}
