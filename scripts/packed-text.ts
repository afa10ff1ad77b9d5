import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { PackedText } from "../core/http/built-text.ts";

/** Packs a text for a built file of core. */
export function packedText(text: string): PackedText {
  const tag = createHash("sha256").update(text).digest("hex").slice(0, 16);
  return { tag, gzip: gzipSync(text, { level: 9 }).toString("base64") };
}
