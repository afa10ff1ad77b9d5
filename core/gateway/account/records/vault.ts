import { BoundedMap } from "../../../work/bounded-map.ts";
import { seal, sealingKey, type SealingKey, unseal } from "../../../crypto/seal.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import type { Records } from "./records.ts";

/** Seals the secrets of records and opens them again. */
export interface Vault {
  /** Seals text for the record `id`; it opens in the same place under the same id only. */
  seal(records: Records, id: string, text: string): Promise<string>;
  /** Throws `unavailable` when no master key opens it. */
  open(records: Records, id: string, sealed: string): Promise<Opened>;
}

export interface Opened {
  readonly text: string;
  /** The secret sealed with the current master key, when an older one opened it. */
  readonly resealed: string | null;
}

/** Derived keys that are kept for places without a master key of the operator's. */
const OWN_KEYS = 1000;

/**
 * A vault under the operator's master keys, the current one first. Without any, each account and gateway
 * gets a key of its own beside its records: then sealing guards copies of single rows, not of the whole
 * database. Secrets sealed that way still open after a master key was introduced.
 */
export function vault(masterKeys: readonly string[], system: System): Vault {
  const derived = new BoundedMap<string, Promise<SealingKey>>(OWN_KEYS + masterKeys.length);
  const keyOf = (master: string): Promise<SealingKey> => {
    const known = derived.get(master);
    if (known !== undefined) return known;
    const key = sealingKey(master, "gateway");
    derived.set(master, key);
    return key;
  };
  const current = async (records: Records): Promise<SealingKey> =>
    keyOf(masterKeys[0] ?? (await records.ownMaster()));
  const sealed = async (records: Records, id: string, text: string): Promise<string> =>
    seal(await current(records), text, context(records, id), system.random(12));
  return {
    seal: sealed,
    async open(records, id, box) {
      for (const [index, master] of masterKeys.entries()) {
        const text = await unseal(await keyOf(master), box, context(records, id));
        if (text === null) continue;
        return { text, resealed: index === 0 ? null : await sealed(records, id, text) };
      }
      const own = await records.storedMaster();
      const text = own === null ? null : await unseal(await keyOf(own), box, context(records, id));
      if (text === null) {
        throw new ApiError("unavailable", {
          message:
            "A stored secret cannot be opened with the configured master keys: store it again",
        });
      }
      return { text, resealed: masterKeys.length === 0 ? null : await sealed(records, id, text) };
    },
  };
}

function context({ place }: Records, id: string): string {
  return `${place}/${id}`;
}
