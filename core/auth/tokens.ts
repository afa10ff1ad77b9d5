import { sha256Hex } from "../crypto/digest.ts";
import { toHex } from "../crypto/encoding.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { checkFuture, formatInstant } from "../http/fields/instant.ts";
import type { System } from "../ports.ts";
import { checkPolicies, type Policy, type PolicyInput, showPolicy } from "./policies.ts";
import type { Principal } from "./principal.ts";
import type { TokenRecord } from "./token-actor.ts";
import { newToken } from "./token-format.ts";
import type { TokenInput, TokenQuery } from "./token-schema.ts";
import type { TokenStore } from "./token-store.ts";

export interface TokenDeps {
  readonly store: TokenStore;
  readonly system: System;
  /** The principal that makes the request. */
  readonly caller: Principal;
  /** The owner of the tokens: an account id, or `"*"` for those of the whole installation. */
  readonly owner: string;
}

/** A token as the API shows it. */
export type TokenView = Readonly<Record<string, unknown>>;

/** Makes a token; the answer is the only one that ever holds its `value`. Throws 403 for more than the caller holds. */
export async function createToken(input: TokenInput, deps: TokenDeps): Promise<TokenView> {
  checkPolicies(input.policies, deps.caller, deps.owner);
  const now = deps.system.now();
  checkFuture("expires_on", input.expires_on, now);
  const value = newToken((length) => deps.system.random(length));
  const record = await deps.store.add({
    id: hexId(deps.system),
    owner: deps.owner,
    name: input.name,
    hash: await sha256Hex(value),
    policies: withIds(input.policies, deps.system),
    status: input.status === "disabled" ? "disabled" : "active",
    issuedOn: now,
    modifiedOn: now,
    lastUsedOn: null,
    ...checkTimes(input.not_before ?? null, input.expires_on ?? null),
  });
  return { ...showToken(record, now), value };
}

/** Replaces name and policies; status and times stay as they are unless given (null clears a time). */
export async function updateToken(
  id: string,
  input: TokenInput,
  deps: TokenDeps,
): Promise<TokenView> {
  const old = await getToken(id, deps);
  checkPolicies(input.policies, deps.caller, deps.owner);
  const { not_before = old.notBefore, expires_on = old.expiresOn, status = old.status } = input;
  if (status === "expired") {
    throw invalidRequest('status: Use "disabled", or set expires_on');
  }
  const changed = {
    ...old,
    name: input.name,
    policies: withIds(input.policies, deps.system),
    status,
    modifiedOn: later(old, deps.system),
    ...checkTimes(not_before, expires_on),
  };
  return showToken(await deps.store.replace(changed, old.modifiedOn), deps.system.now());
}

/** Gives a token a new secret, which is returned once. Throws 403 when it may do more than the caller. */
export async function rollToken(id: string, deps: TokenDeps): Promise<string> {
  const old = await getToken(id, deps);
  // The caller can use the rolled token, so rolling must not be a way around checkPolicies.
  checkPolicies(old.policies, deps.caller, deps.owner);
  const value = newToken((length) => deps.system.random(length));
  const rolled = { ...old, hash: await sha256Hex(value), modifiedOn: later(old, deps.system) };
  await deps.store.replace(rolled, old.modifiedOn);
  return value;
}

/** One token. Throws 404. */
export async function getToken(
  id: string,
  deps: Pick<TokenDeps, "store" | "owner">,
): Promise<TokenRecord> {
  const record = await deps.store.get(deps.owner, id);
  if (record === null)
    throw new ApiError("not_found", { message: `No API token "${id.slice(0, 64)}"` });
  return record;
}

/** One page of the tokens and the facts about it. A page past the end is empty: that is where the SDK stops. */
export async function listTokens(
  query: TokenQuery,
  deps: Pick<TokenDeps, "store" | "owner" | "system">,
): Promise<{ readonly tokens: TokenView[]; readonly info: Readonly<Record<string, number>> }> {
  const now = deps.system.now();
  const sign = query.direction === "asc" ? 1 : -1;
  const all = (await deps.store.list(deps.owner))
    .filter((record) => query.include_expired || statusOf(record, now) !== "expired")
    .toSorted((a, b) => sign * (a.issuedOn - b.issuedOn || (a.id < b.id ? -1 : 1)));
  const start = (query.page - 1) * query.per_page;
  const tokens = all.slice(start, start + query.per_page).map((record) => showToken(record, now));
  const { page, per_page } = query;
  return { tokens, info: { page, per_page, count: tokens.length, total_count: all.length } };
}

/** The wire form; the secret and its hash are not part of it. */
export function showToken(record: TokenRecord, now: number): TokenView {
  return {
    id: record.id,
    name: record.name,
    status: statusOf(record, now),
    issued_on: formatInstant(record.issuedOn),
    modified_on: formatInstant(record.modifiedOn),
    ...time("last_used_on", record.lastUsedOn),
    ...validity(record),
    policies: record.policies.map(showPolicy),
  };
}

/** When a token is valid, as the API shows it. */
export function validity(record: TokenRecord): Readonly<Record<string, string>> {
  return { ...time("not_before", record.notBefore), ...time("expires_on", record.expiresOn) };
}

function time(name: string, value: number | null): Readonly<Record<string, string>> {
  return value === null ? {} : { [name]: formatInstant(value) };
}

function statusOf(record: TokenRecord, now: number): "active" | "disabled" | "expired" {
  return record.expiresOn !== null && now >= record.expiresOn ? "expired" : record.status;
}

function checkTimes(
  notBefore: number | null,
  expiresOn: number | null,
): { notBefore: number | null; expiresOn: number | null } {
  if (notBefore === null || expiresOn === null || notBefore < expiresOn)
    return { notBefore, expiresOn };
  throw invalidRequest("expires_on: Must be later than not_before");
}

/** Strictly increasing, because it also distinguishes the versions of a record. */
function later(old: TokenRecord, system: System): number {
  return Math.max(system.now(), old.modifiedOn + 1);
}

function withIds(policies: readonly PolicyInput[], system: System): Policy[] {
  return policies.map((policy) => ({ ...policy, id: hexId(system) }));
}

function hexId(system: System): string {
  return toHex(system.random(16));
}
