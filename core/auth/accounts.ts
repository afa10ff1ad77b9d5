import { allows, type Principal } from "./principal.ts";
import type { TokenQuery } from "./token-schema.ts";
import { invalidRequest } from "../http/api-error.ts";

/** An account as the API shows it. Accounts are names: whatever a token may reach exists. */
export interface AccountView {
  readonly id: string;
  readonly name: string;
  readonly type: "standard";
}

/** The wire form of an account. */
export function showAccount(id: string): AccountView {
  return { id, name: id, type: "standard" };
}

/** The accounts that a caller may read: its own by name, and the installation's default one. */
export function listAccounts(
  principal: Principal,
  accountId: string,
  query: TokenQuery,
  name: string | undefined,
): { readonly accounts: AccountView[]; readonly info: Readonly<Record<string, number>> } {
  const named = principal.grants
    .flatMap((grant) => grant.accounts)
    .filter((account) => account !== "*");
  const all = [...new Set([accountId, ...named])]
    .filter((account) => allows(principal, "Account Read", account))
    .filter((account) => name === undefined || account === name)
    .toSorted();
  const { page, per_page } = query;
  const accounts = all.slice((page - 1) * per_page, page * per_page).map(showAccount);
  return { accounts, info: { page, per_page, count: accounts.length, total_count: all.length } };
}

/** Account ids that a policy's resource and the configuration can name. */
const ACCOUNT_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws 400 for an impossible account id, which would otherwise become part of keys and log lines. */
export function checkAccountId(id: string): void {
  if (ACCOUNT_ID.test(id)) return;
  throw invalidRequest("account_id must be 1 to 64 of A-Z, a-z, 0-9, _ and -");
}
