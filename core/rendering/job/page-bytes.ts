import { utf8 } from "../../crypto/encoding.ts";
import type { Job } from "./job.ts";

/** The `html` of a job in UTF-8; empty when it has none. */
export function pageBytes({ page, body }: Job): Uint8Array<ArrayBuffer> {
  return page ?? utf8(body.html ?? "");
}
