import { invalidRequest } from "../../../http/api-error.ts";
import { jsonText } from "../../../http/json.ts";
import { secretOrigin } from "../../../net/secret-origin.ts";
import type { CustomTarget } from "../../account/records/stored-providers.ts";
import type { StoredRecord } from "../../account/records/record.ts";

/** The origins of a provider that the management API can move. */
export type KeyOrigins = Pick<CustomTarget, "origin" | "earlyKeyOrigin">;

/** Returns the origins of a custom provider's record. One without `early_key_origin` is as old as its keys may be. */
export function keyOrigins({ body }: Pick<StoredRecord, "body">): KeyOrigins {
  const origin = secretOrigin(jsonText(body["base_url"]));
  const early = body["early_key_origin"];
  if (early === undefined) return { origin, earlyKeyOrigin: origin };
  return { origin, earlyKeyOrigin: typeof early === "string" ? early : null };
}

/** Returns the origin that a custom provider's stored key belongs to; null where that is not known. */
export function keyOrigin({ body }: Pick<StoredRecord, "body">, of: KeyOrigins): string | null {
  const { origin } = body;
  return typeof origin === "string" ? origin : of.earlyKeyOrigin;
}

/** Throws `invalid_request` for a stored key whose provider has another origin than the one that the key was stored for. */
export function checkKeyOrigin(config: StoredRecord, custom: KeyOrigins | undefined): void {
  if (custom === undefined) return;
  const own = keyOrigin(config, custom);
  if (own !== null && own === custom.origin) return;
  throw invalidRequest(
    `The stored key "${jsonText(config.body["alias"])}" of "${config.parent}" belongs to another host than the provider's base_url: store the key again`,
  );
}
