import { allowNone, parseAllowHosts } from "../../core/net/allow-hosts.ts";
import { checkUrl, reasonOf } from "../../core/net/check-url.ts";
import type { Transport } from "../../core/ports.ts";
import { TransportError } from "../../core/transport-error.ts";
import { fetchTransport, type Send } from "./fetch-transport.ts";
import type { FetchBinding } from "./worker-env.ts";

/** Why requests to caller-steered addresses are less guarded here than on other runtimes. */
export const UNPINNED: string =
  'A Worker cannot see what a name resolves to: bind a filtered network service as "CAUSEY_EGRESS", or rely on the platform, whose fetch reaches public addresses only';

/**
 * A transport to addresses that a caller can steer. Local names and literals that are not public are refused
 * here; what a name resolves to is checked by the service behind `filtered`, if there is one.
 */
export function guardedTransport(
  allowHosts: readonly string[],
  filtered: FetchBinding | undefined,
): Transport {
  const allow = parseAllowHosts(allowHosts);
  const open = fetchTransport();
  const guarded =
    filtered === undefined ? open : fetchTransport((request) => filtered.fetch(request));
  return {
    refusal: (url) => reasonOf(checkUrl(url, allow)),
    async send(request) {
      const verdict = checkUrl(request.url, allow);
      if (!verdict.ok) throw new TransportError("refused", verdict.reason);
      // What only the operator's list lets through is not public: the filter would refuse it.
      const isPublic =
        checkUrl(verdict.url, allowNone).ok && !allow.host(verdict.host, verdict.port);
      return (isPublic ? guarded : open).send(request);
    },
  };
}

/** How a WebSocket request to an address that a caller can steer leaves; throws `refused` as {@link guardedTransport} does. */
export function guardedSend(
  allowHosts: readonly string[],
  filtered: FetchBinding | undefined,
): (url: string) => Send {
  const allow = parseAllowHosts(allowHosts);
  return (url) => {
    const verdict = checkUrl(url, allow);
    if (!verdict.ok) throw new TransportError("refused", verdict.reason);
    const isPublic = checkUrl(verdict.url, allowNone).ok && !allow.host(verdict.host, verdict.port);
    return isPublic && filtered !== undefined
      ? (request) => filtered.fetch(request)
      : (request) => fetch(request);
  };
}
