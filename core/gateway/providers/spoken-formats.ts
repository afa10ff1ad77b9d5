import { utf8 } from "../../crypto/encoding.ts";
import { TransportError } from "../../net/transport-error.ts";
import type { System } from "../../ports.ts";
import type { Outbound } from "../call/outbound.ts";
import { recentMap } from "../../work/recent-map.ts";
import { dropBody } from "../wire/reply-body.ts";

/** Finds out which addresses of custom providers take requests. */
export interface SpokenFormats {
  /** The finding of an earlier probe; undefined without one. */
  known(address: string): boolean | undefined;
  /**
   * Sends an empty object to the address of a prepared request; it asks for no inference. False where there is no such
   * route. Anything but a clear answer counts as true, so that the client gets the provider's own error, and is not kept.
   */
  probe(address: string, prepared: Outbound, signal: AbortSignal): Promise<boolean>;
}

/** Addresses whose findings are kept, and for how many milliseconds: a server may learn a format with an update. */
const KEPT = 1000;
const KEPT_MS = 10 * 60_000;

/** Milliseconds within which a probe has to be answered. */
const PROBE_MS = 5000;

/** Answers of servers without a route (Ollama, vLLM and llama.cpp answer 404). */
const MISSING: ReadonlySet<number> = new Set([404, 405, 501]);

/** Answers that say nothing of the route. */
const UNCLEAR: ReadonlySet<number> = new Set([401, 403, 407, 408, 429]);

export function spokenFormats(system: System): SpokenFormats {
  const findings = recentMap<boolean>(KEPT, KEPT_MS, system);
  return {
    known: (address) => findings.get(address),
    async probe(address, { via, request }, signal) {
      try {
        const sent = { ...request, body: utf8("{}"), signal, beginMs: PROBE_MS };
        const answer = await via.send(sent);
        dropBody(answer, system);
        const { status } = answer;
        const takes = !MISSING.has(status);
        if (!takes || (status < 500 && !UNCLEAR.has(status))) findings.set(address, takes);
        return takes;
      } catch (error) {
        if (error instanceof TransportError) return true;
        throw error;
      }
    },
  };
}
