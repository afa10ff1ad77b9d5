import type { InboundResponse, System } from "../ports.ts";
import { dropBody } from "./drop-body.ts";

/** Statuses whose answers have no body (fetch standard, "null body status"). */
export const NULL_BODY: ReadonlySet<number> = new Set([204, 205, 304]);

/** An answer without the body that its status forbids: nobody would read it, and its length would be a lie. */
export function lawful(answer: InboundResponse, system: System): InboundResponse {
  const { status, headers, body } = answer;
  if (body === null || !NULL_BODY.has(status)) return answer;
  dropBody(answer, system);
  return { status, headers: headers.filter(([name]) => name !== "content-length"), body: null };
}
