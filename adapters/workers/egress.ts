import type { Transport } from "../../core/ports.ts";
import { urlGuard } from "../shared/egress/url-guard.ts";
import type { Send } from "../shared/http/fetch-transport.ts";
import { workerTransport } from "./fetch-transport.ts";
import type { FetchBinding } from "./env/worker-env.ts";

/** Why requests to caller-steered addresses are less guarded here than on other runtimes. */
export const WORKERS_UNPINNED: string =
  'A Worker cannot see what a name resolves to: bind a filtered network service as "CAUSEY_EGRESS", or rely on the platform, whose fetch reaches public addresses only';

/**
 * Makes a transport to addresses that a caller can steer. Local names and literals that are not public are refused here;
 * what a name resolves to is checked by the service behind `filtered`, if there is one.
 */
export function guardedTransport(
  allowHosts: readonly string[],
  filtered: FetchBinding | undefined,
): Transport {
  const guard = urlGuard(allowHosts);
  const open = workerTransport();
  const guarded =
    filtered === undefined ? open : workerTransport((request) => filtered.fetch(request));
  return {
    refusal: (url) => guard.refusal(url),
    // Addresses that only the operator's list allows are not public: the filter would refuse them.
    send: async (request) => (guard.pass(request.url).isPublic ? guarded : open).send(request),
  };
}

/**
 * Returns how a WebSocket request to an address that a caller can steer leaves; throws `refused` as {@link
 * guardedTransport} does.
 */
export function guardedSend(
  allowHosts: readonly string[],
  filtered: FetchBinding | undefined,
): (url: string) => Send {
  const guard = urlGuard(allowHosts);
  return (url) =>
    guard.pass(url).isPublic && filtered !== undefined
      ? (request) => filtered.fetch(request)
      : (request) => fetch(request);
}
