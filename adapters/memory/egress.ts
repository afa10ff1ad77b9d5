import { checkAddress } from "../../core/net/check-url.ts";
import type { Transport } from "../../core/ports.ts";
import { TransportError } from "../../core/net/transport-error.ts";
import { type UrlGuard, urlGuard } from "../shared/egress/url-guard.ts";

/** Lists the addresses of a name. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/** Why requests to caller-steered addresses are less guarded here than on other runtimes. */
export const MEMORY_UNPINNED: string =
  "Addresses are checked by their text only: pass memoryPlatform({ resolve }) to check what names resolve to";

/** The remark for platforms where names are resolved apart from `fetch`. */
export const RESOLVED_APART: string =
  "Names are resolved and checked before each request, and fetch() resolves them again: an answer that changes in between is not noticed";

/** Lets pass what a caller may steer a request to; throws `TransportError` else. */
export type CheckTarget = (url: string) => Promise<void>;

/** Checks the text of an address and, with a resolver, what its name resolves to. */
export function targetCheck(guard: UrlGuard, resolve: ResolveName | undefined): CheckTarget {
  return async (url) => {
    const { host, port } = guard.pass(url);
    if (resolve === undefined || guard.allow.host(host, port)) return;
    const addresses = await resolve(host).catch((cause: unknown) => {
      throw new TransportError("unreachable", `The name "${host}" could not be resolved`, {
        cause,
        failure: "dns",
      });
    });
    if (addresses.length === 0)
      throw new TransportError("unreachable", `The name "${host}" has no address`, {
        failure: "dns",
      });
    // One that is not public is enough: which of them is dialled is chance.
    if (!addresses.every((address) => checkAddress(host, port, address, guard.allow)))
      throw new TransportError("refused", `The host "${host}" is not a public address`);
  };
}

/** Makes a transport to addresses that a caller can steer. */
export function checkedTransport(
  transport: Transport,
  allowHosts: readonly string[],
  resolve: ResolveName | undefined,
): Transport {
  const guard = urlGuard(allowHosts);
  const check = targetCheck(guard, resolve);
  return {
    ...transport,
    refusal: (url) => guard.refusal(url),
    async send(request) {
      await check(request.url);
      return transport.send(request);
    },
  };
}
