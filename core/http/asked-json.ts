import type { OutboundRequest, System, Transport } from "../ports.ts";
import { parsedJson } from "./json.ts";
import { bodyUpTo } from "./stream.ts";
import { withinMs } from "../time/within-ms.ts";

/** The bounds of a question of the gateway's own. */
export interface AskedJsonLimits {
  readonly via: Pick<Transport, "send">;
  readonly system: System;
  /** Milliseconds within which the whole answer has to be there. */
  readonly ms: number;
  /** Bytes of the answer. */
  readonly bytes: number;
}

/** An answer to a question of the gateway's own. */
export interface JsonAnswer {
  readonly status: number;
  /** Undefined for anything but JSON within the limit. */
  readonly value: unknown;
}

/** Asks a server a question of the gateway's own. Throws `TransportError` where no whole answer comes in time. */
export function askedJson(
  request: OutboundRequest,
  { via, system, ms, bytes }: AskedJsonLimits,
): Promise<JsonAnswer> {
  return withinMs({ ms, signal: undefined, system }, async (signal) => {
    const { status, body } = await via.send({ ...request, signal });
    const read = await bodyUpTo(body, bytes);
    return {
      status,
      value: read === null ? undefined : parsedJson(new TextDecoder().decode(read)),
    };
  });
}
