import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { schemes, type SchemeName } from "../../core/webhooks/mod.ts";

/** A key pair in the forms that the receiver's source and `webhook send` take. */
export interface WebhookKeys {
  /** The receiver's `secret`. */
  readonly publicKey: string;
  /** The sender's `--secret`. */
  readonly privateKey: string;
}

/** A fresh key pair for a scheme of public keys. Throws `TypeError` for one with a shared secret. */
export function webhookKeys(scheme: SchemeName): WebhookKeys {
  const { algorithm, secretForm } = schemes[scheme];
  if (algorithm === "ecdsa-p256") {
    const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const text = { format: "der" } as const;
    return {
      publicKey: pair.publicKey.export({ ...text, type: "spki" }).toString("base64"),
      privateKey: pair.privateKey.export({ ...text, type: "pkcs8" }).toString("base64"),
    };
  }
  if (algorithm !== "ed25519" && secretForm !== "whsec")
    throw new TypeError(
      `The scheme "${scheme}" has a shared secret and no keys: choose one of at least 8 characters`,
    );
  const pair = generateKeyPairSync("ed25519");
  const [publicKey, privateKey] = [raw(pair.publicKey, "x"), raw(pair.privateKey, "d")];
  if (secretForm === "whsec") {
    return {
      publicKey: `whpk_${publicKey.toString("base64")}`,
      privateKey: `whsk_${privateKey.toString("base64")}`,
    };
  }
  return { publicKey: publicKey.toString("hex"), privateKey: privateKey.toString("hex") };
}

/** The 32 bytes of a key (RFC 8037, section 2). */
function raw(key: KeyObject, member: "x" | "d"): Buffer {
  return Buffer.from(String(key.export({ format: "jwk" })[member]), "base64url");
}
