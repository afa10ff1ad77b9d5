import type { HeaderPair } from "../ports.ts";
import type { GatewayDeps } from "./call.ts";
import type { Forwarded } from "./forward.ts";
import { providers } from "./providers.ts";
import type { RawTail } from "./raw-path.ts";
import { resolveTarget } from "./target.ts";

/** A request to a provider, as it came. */
interface Asked {
  readonly url: string;
  readonly slug: string;
  readonly tail: RawTail;
}

/**
 * An answer that tells where an upload goes on (`uploadAddress` of the provider's row), told the gateway's own address
 * in place of the provider's: Google's SDK keeps the path of that address, and takes the host of its base URL.
 */
export function withUploadAddress(
  forwarded: Forwarded,
  { url, slug, tail }: Asked,
  deps: GatewayDeps,
): Forwarded {
  const row = Object.hasOwn(providers, slug) ? providers[slug] : undefined;
  const { uploadAddress: header, baseUrl } = row ?? {};
  if (header === undefined || !tail.rest.startsWith("upload/")) return forwarded;
  const own = url.slice(0, url.lastIndexOf(`/${tail.rest}`) + 1);
  const configured = resolveTarget(slug, "", "", deps.targets).url;
  const theirs = [configured, `${baseUrl}/`];
  const told = ([name, value]: HeaderPair): HeaderPair => {
    const base = name === header ? theirs.find((one) => value.startsWith(one)) : undefined;
    return base === undefined ? [name, value] : [name, own + value.slice(base.length)];
  };
  const { reply } = forwarded;
  return { ...forwarded, reply: { ...reply, headers: reply.headers.map(told) } };
}
