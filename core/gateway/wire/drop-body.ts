import type { InboundResponse, System } from "../../ports.ts";

/** Lets go of the body of an answer that nobody will read, so that its connection is free. Never fails. */
export function dropBody({ body }: Pick<InboundResponse, "body">, system: System): void {
  if (body instanceof ReadableStream) system.waitUntil(body.cancel().catch(() => undefined));
}
