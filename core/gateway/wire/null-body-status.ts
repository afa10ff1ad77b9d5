import type { InboundResponse, System } from "../../ports.ts";
import { dropBody } from "./drop-body.ts";

/** Statuses whose answers have no body ([null body status](https://fetch.spec.whatwg.org/#null-body-status)). */
export const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** Drops a body that the status forbids: no client reads it, and its `content-length` would be wrong. */
export function withNullBodyStatus(answer: InboundResponse, system: System): InboundResponse {
  const { status, headers, body } = answer;
  if (body === null || !NULL_BODY.has(status)) return answer;
  dropBody(answer, system);
  return { status, headers: headers.filter(([name]) => name !== "content-length"), body: null };
}
