import { seal, sealingKey, type SealingKey, unseal } from "../../crypto/seal.ts";
import { ApiError } from "../../http/api-error.ts";
import { directoryAt } from "./directory.ts";
import type { SearchOptions } from "../models/search-deps.ts";

/** The credentials for a bucket. */
export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const keyOf = (master: string): Promise<SealingKey> => sealingKey(master, "search");

/** The options that seal the secrets of an account. */
export type SecretDeps = Pick<SearchOptions, "platform" | "masterSecret" | "formerMasterSecrets">;

/** Seals a secret of an account: it opens under the same account and id only. */
export async function sealSecret(
  { platform, masterSecret }: SecretDeps,
  account: string,
  id: string,
  secret: string,
): Promise<string> {
  const master = masterSecret ?? (await directoryAt(platform, account).ownMaster());
  return seal(await keyOf(master), secret, `${account}/${id}`, platform.system.random(12));
}

/** Opens what {@link sealSecret} made; null when no master secret does. */
export async function openSecret(
  { platform, masterSecret, formerMasterSecrets = [] }: SecretDeps,
  account: string,
  id: string,
  sealed: string,
): Promise<string | null> {
  const known = [...(masterSecret === undefined ? [] : [masterSecret]), ...formerMasterSecrets];
  // Last, because it is what sealed before there was a master secret.
  for (const master of [...known, await directoryAt(platform, account).ownMaster()]) {
    const secret = await unseal(await keyOf(master), sealed, `${account}/${id}`);
    if (secret !== null) return secret;
  }
  return null;
}

/** Returns a token with its secret, for its use. Throws 7075 when it is gone, 503 when no master secret opens it. */
export async function openToken(
  deps: SecretDeps,
  account: string,
  id: string,
): Promise<BucketCredentials> {
  const { keyId, sealed } = await directoryAt(deps.platform, account).sealedToken(id);
  const secretAccessKey = await openSecret(deps, account, id, sealed);
  if (secretAccessKey !== null) return { accessKeyId: keyId, secretAccessKey };
  throw new ApiError("unavailable", {
    message: `The token "${id}" cannot be opened with the configured master secrets: store it again`,
  });
}
