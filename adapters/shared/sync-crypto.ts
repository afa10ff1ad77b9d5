import { createHmac, createSecretKey, hash } from "node:crypto";
import type { System } from "../../core/ports.ts";

/** What `System` offers beside WebCrypto where `node:crypto` is: on Node, Deno and Bun. */
export const syncCrypto: Required<Pick<System, "hmac" | "sha256Hex">> = {
  sha256Hex: (data) => hash("sha256", data, "hex"),
  hmac(secret, algorithm) {
    const key = createSecretKey(secret);
    const name = algorithm.replace("-", "").toLowerCase();
    return (data) => createHmac(name, key).update(data).digest();
  },
};
