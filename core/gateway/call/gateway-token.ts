import type { HeaderPair } from "../../ports.ts";
import { AUTHORIZATION, gatewayHeader } from "./controls.ts";

/** Longest gateway token that is looked at. */
export const GATEWAY_TOKEN_LIMIT = 4096;

/** How a caller sends a gateway token, for the errors that ask for one. */
export const HOW_TO_SEND: string =
  'send "cf-aig-authorization: Bearer <GATEWAY_TOKEN>" (or gw-aig-authorization)';

/**
 * The token of a gateway authorization header: `Bearer <token>` with the scheme in any case. The bare token is taken on
 * WebSockets only, whose public documentation sends it so. Null when it is missing, empty, repeated or overlong.
 */
export function presentedToken(headers: readonly HeaderPair[], takesBare: boolean): string | null {
  const value = gatewayHeader(headers, AUTHORIZATION);
  return takesBare ? tokenOf(value) : bearerOf(value);
}

/** The token in a header value with the scheme `Bearer`, see {@link presentedToken}. */
export function bearerOf(value: string | null): string | null {
  return value !== null && /^bearer /i.test(value) ? tokenOf(value) : null;
}

/** The token in a header value, with the scheme or without it. */
export function tokenOf(value: string | null): string | null {
  if (value === null || value.length > GATEWAY_TOKEN_LIMIT) return null;
  const token = /^(?:bearer +)?([!-+\--~]+) *$/i.exec(value)?.[1] ?? null;
  return token === null || /^bearer$/i.test(token) ? null : token;
}
