import { seal, sealingKey, type SealingKey, unseal } from "../../crypto/seal.ts";
import { ApiError } from "../../http/api-error.ts";
import { directoryAt } from "./directory.ts";
import type { SearchOptions } from "../models/search-deps.ts";

/** The credentials for a bucket. */
export interface BucketCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

type Deps = Pick<SearchOptions, "platform" | "masterSecret" | "formerMasterSecrets">;

const keyOf = (master: string): Promise<SealingKey> => sealingKey(master, "search");

/** Seals the secret of a token: it opens under the same account and id only. */
export async function sealSecret(
  { platform, masterSecret }: Deps,
  account: string,
  id: string,
  secret: string,
): Promise<string> {
  const master = masterSecret ?? (await directoryAt(platform, account).ownMaster());
  return seal(await keyOf(master), secret, `${account}/${id}`, platform.system.random(12));
}

/** Returns a token with its secret, for its use. Throws 7075 when it is gone, 503 when no master secret opens it. */
export async function openToken(
  { platform, masterSecret, formerMasterSecrets = [] }: Deps,
  account: string,
  id: string,
): Promise<BucketCredentials> {
  const directory = directoryAt(platform, account);
  const { keyId, sealed } = await directory.sealedToken(id);
  const known = [...(masterSecret === undefined ? [] : [masterSecret]), ...formerMasterSecrets];
  // Last, because it is what sealed before there was a master secret.
  for (const master of [...known, await directory.ownMaster()]) {
    const secretAccessKey = await unseal(await keyOf(master), sealed, `${account}/${id}`);
    if (secretAccessKey !== null) return { accessKeyId: keyId, secretAccessKey };
  }
  throw new ApiError("unavailable", {
    message: `The token "${id}" cannot be opened with the configured master secrets: store it again`,
  });
}
