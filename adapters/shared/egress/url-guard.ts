import { allowNone, type AllowHosts, parseAllowHosts } from "../../../core/net/allow-hosts.ts";
import { checkUrl, reasonOf } from "../../../core/net/check-url.ts";
import { TransportError } from "../../../core/net/transport-error.ts";

/** Judges addresses that a caller can steer by their text: local names and literals that are not public are refused. */
export interface UrlGuard {
  readonly allow: AllowHosts;
  /** Why an address is refused; null when it is not. */
  refusal(url: string): string | null;
  /** The parts of an address that passes. Throws `TransportError` `refused`. */
  pass(url: string): PassedUrl;
}

export interface PassedUrl {
  readonly host: string;
  readonly port: number;
  /** False when only the operator's list lets it through. */
  readonly isPublic: boolean;
}

/** Makes a guard that lets the operator's hosts pass, see `parseAllowHosts`. */
export function urlGuard(allowHosts: readonly string[]): UrlGuard {
  const allow = parseAllowHosts(allowHosts);
  return {
    allow,
    refusal: (url) => reasonOf(checkUrl(url, allow)),
    pass(url) {
      const verdict = checkUrl(url, allow);
      if (!verdict.ok) throw new TransportError("refused", verdict.reason);
      const { host, port } = verdict;
      return {
        host,
        port,
        isPublic: checkUrl(verdict.url, allowNone).ok && !allow.host(host, port),
      };
    },
  };
}
