import { hash } from "node:crypto";
import type { System } from "../../core/ports.ts";
import { syncHmac } from "./sync-hmac.ts";

/** What `System` offers beside WebCrypto where `node:crypto` is: on Node, Deno and Bun. */
export const syncCrypto: Required<Pick<System, "hmac" | "sha256Hex">> = {
  sha256Hex: (data) => hash("sha256", data, "hex"),
  hmac: syncHmac,
};
