import type { HeaderPair } from "../../../ports.ts";
import type { Forwarded } from "../../call/forwarded.ts";
import { providers } from "../table.ts";
import type { RawTail } from "../../wire/raw-path.ts";
import { resolveTarget, type ConfiguredTargets } from "../target.ts";

/** A request to a provider, as it came. */
interface UploadRequest {
  readonly url: string;
  readonly slug: string;
  readonly tail: RawTail;
}

/**
 * Puts the gateway's own address into an answer that names where an upload continues (`uploadAddress` of the provider's
 * row). Google's SDK keeps the path of that address, and takes the host from its base URL.
 */
export function withUploadAddress(
  forwarded: Forwarded,
  { url, slug, tail }: UploadRequest,
  targets: ConfiguredTargets,
): Forwarded {
  const row = Object.hasOwn(providers, slug) ? providers[slug] : undefined;
  const { uploadAddress: header, baseUrl } = row ?? {};
  if (header === undefined || !tail.rest.startsWith("upload/")) return forwarded;
  const own = url.slice(0, url.lastIndexOf(`/${tail.rest}`) + 1);
  const configured = resolveTarget(slug, "", "", targets).url;
  const theirs = [configured, `${baseUrl}/`];
  const rewritten = ([name, value]: HeaderPair): HeaderPair => {
    const base = name === header ? theirs.find((one) => value.startsWith(one)) : undefined;
    return base === undefined ? [name, value] : [name, own + value.slice(base.length)];
  };
  const { reply } = forwarded;
  return { ...forwarded, reply: { ...reply, headers: reply.headers.map(rewritten) } };
}
