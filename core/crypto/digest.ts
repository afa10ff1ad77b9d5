import type { NowOrLater } from "../work/now-or-later.ts";
import type { System } from "../ports.ts";
import { toHex, utf8 } from "./encoding.ts";

/** SHA-256 of bytes or UTF-8 text. */
export async function sha256(data: string | Uint8Array): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = typeof data === "string" ? utf8(data) : new Uint8Array(data);
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** SHA-256 as lower-case hexadecimal digits: at once where the runtime can, else as a promise. */
export function quickSha256Hex(
  data: string | Uint8Array,
  system: Pick<System, "sha256Hex">,
): NowOrLater<string> {
  return system.sha256Hex === undefined ? sha256Hex(data) : system.sha256Hex(data);
}

/** SHA-256 as lower-case hexadecimal digits. */
export async function sha256Hex(data: string | Uint8Array): Promise<string> {
  return toHex(await sha256(data));
}
