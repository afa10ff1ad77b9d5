import { invalidRequest } from "../../http/api-error.ts";
import type { HeaderPair } from "../../ports.ts";
import { AUTHORIZATION, gatewayHeader } from "../call/controls.ts";
import { headerValue } from "../wire/header-hygiene.ts";
import { credentialValue } from "../providers/known/provider.ts";
import { providerRow, providers } from "../providers/known/table.ts";

/** An upgrade request, its credentials moved from subprotocols, where browsers put them, into headers. */
export interface Offer {
  /** Without those of the handshake. A header that was there already outranks a subprotocol. */
  readonly headers: readonly HeaderPair[];
  /** The subprotocols that are meant for the provider. */
  readonly protocols: readonly string[];
  /** Returns the protocol for the client's answer, given the one that the provider selected. */
  select(byProvider: string): string | null;
}

/** Longest list of subprotocols that is looked at, in characters. */
const OFFER_LIMIT = 16_384;

/** Reads an upgrade request for a provider; throws `invalid_request` for a malformed list of subprotocols. */
export function readOffer(received: readonly HeaderPair[], slug: string): Offer {
  const headers = received.filter(([name]) => !name.startsWith("sec-websocket-"));
  const offered = offeredProtocols(received);
  const protocols: string[] = [];
  const add = (name: string, value: string): void => {
    if (headerValue(headers, name) === null) headers.push([name, value]);
  };
  for (let at = 0; at < offered.length; at++) {
    const one = offered[at] ?? "";
    const token = /^(?:cf|gw)-aig-authorization\.(.+)$/.exec(one)?.[1];
    if (token !== undefined) {
      if (gatewayHeader(headers, AUTHORIZATION) === null) add("cf-aig-authorization", token);
      continue;
    }
    const next = offered[at + 1];
    const credential = keyIn(one, slug) ?? keyAfter(one, next, slug);
    if (credential === null) {
      protocols.push(one);
      continue;
    }
    if (credential.header !== null) add(...credential.header);
    if (credential.tookNext) at += 1;
  }
  return { headers, protocols, select: (byProvider) => selected(byProvider, offered, protocols) };
}

function offeredProtocols(headers: readonly HeaderPair[]): string[] {
  const list = headerValue(headers, "sec-websocket-protocol") ?? "";
  const names = list.split(",").map((one) => one.trim());
  const offered = [...new Set(names.filter((one) => one !== ""))];
  const isToken = (one: string): boolean => /^[\w!#$%&'*+.^`|~-]+$/.test(one);
  if (list.length <= OFFER_LIMIT && offered.every(isToken)) return offered;
  throw invalidRequest("Header sec-websocket-protocol: expected a list of tokens");
}

/** A credential that was found among the subprotocols. */
interface OfferedCredential {
  /** Null: it is another provider's, and travels nowhere. */
  readonly header: HeaderPair | null;
  readonly tookNext: boolean;
}

function keyIn(offered: string, slug: string): OfferedCredential | null {
  for (const [name, { realtime: { keyWord } = {} }] of Object.entries(providers)) {
    if (keyWord === undefined || !offered.startsWith(`${keyWord}.`)) continue;
    const provider = name === slug ? providerRow(slug) : undefined;
    const key = offered.slice(keyWord.length + 1);
    const header: HeaderPair | null =
      provider === undefined || key === ""
        ? null
        : [provider.credentials[0], credentialValue(provider, key)];
    return { header, tookNext: false };
  }
  return null;
}

function keyAfter(
  offered: string,
  next: string | undefined,
  slug: string,
): OfferedCredential | null {
  const provider = providerRow(slug);
  const schemes = provider?.realtime?.keyAfter ?? {};
  if (next === undefined || provider === undefined || !Object.hasOwn(schemes, offered)) return null;
  return { header: [provider.credentials[0], `${schemes[offered]} ${next}`], tookNext: true };
}

/**
 * Clients fail a connection if none of their offered subprotocols is confirmed. When the provider selected none, a name is
 * confirmed before a credential is.
 */
function selected(
  byProvider: string,
  offered: readonly string[],
  protocols: readonly string[],
): string | null {
  if (byProvider !== "" && offered.includes(byProvider)) return byProvider;
  return protocols[0] ?? offered.find((one) => !one.includes(".")) ?? offered[0] ?? null;
}
