import { BoundedMap } from "../../work/bounded-map.ts";
import { toBase64 } from "../../crypto/encoding.ts";
import { seal, sealingKey, unseal, type SealingKey } from "../../crypto/seal.ts";
import type { ActorContext } from "../../ports.ts";

/** Most opened texts that are remembered. */
const KNOWN_LIMIT = 1000;

/** Seals the texts of an account's endpoints, each for a place that it is bound to. */
export interface Sealer {
  seal(place: string, text: string): Promise<string>;
  /** Returns the text; null if it was sealed with a lost key, or for another place. */
  open(place: string, sealed: string): Promise<string | null>;
}

/** Makes the sealer of an account, with the key of `master`, or with one that is made at first use. */
export function startSealer(
  context: ActorContext,
  master: string | undefined,
  former: readonly string[] = [],
): Sealer {
  const { name, system } = context;
  let key: Promise<SealingKey> | undefined;
  let oldKeys: Promise<SealingKey[]> | undefined;
  const sealing = (): Promise<SealingKey> => (key ??= loadKey(context, master));
  const boundTo = (place: string): string => `${name}/${place}`;
  /** Texts by their sealed form: those of a busy endpoint are opened once, not for every attempt. */
  const known = new BoundedMap<string, Promise<string | null>>(KNOWN_LIMIT);

  async function unsealed(place: string, sealed: string): Promise<string | null> {
    const text = await unseal(await sealing(), sealed, boundTo(place));
    if (text !== null || master === undefined) return text;
    for (const old of await (oldKeys ??= loadOldKeys(context, former))) {
      const found = await unseal(old, sealed, boundTo(place));
      if (found !== null) return found;
    }
    return null;
  }

  return {
    seal: async (place, text) => seal(await sealing(), text, boundTo(place), system.random(12)),
    open(place, sealed) {
      let text = known.get(sealed);
      if (text === undefined) {
        text = unsealed(place, sealed);
        known.set(sealed, text);
        text.catch(() => known.delete(sealed));
      }
      return text;
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
