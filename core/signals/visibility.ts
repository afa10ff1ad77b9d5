import type { Permission } from "../auth/permissions.ts";
import { allows, type Viewer } from "../auth/principal.ts";
import type { RequestRow } from "./requests/request-row.ts";
import { addTotals, noRequests } from "./requests/request-totals.ts";
import type { Slot } from "./signals-actor.ts";

/** A minute of one part, of all accounts that a viewer may see. */
export type SeenMinute = Omit<Slot, "account">;

/** The permission that shows the requests of a part: the one that reads the part itself. */
const permissionOfPart: Readonly<Record<string, Permission>> = {
  gateway: "AI Gateway Read",
  rendering: "Browser Rendering Edit",
  search: "AI Search Read",
  webhooks: "Webhooks Read",
  agents: "Agents Read",
  /** All others belong to the account itself: tokens, unknown paths, deprecations. */
  platform: "Account Read",
};

/** The part of an installation's requests that a viewer may see; the installation's own account is `accountId`. */
export interface Visibility {
  /** The permissions that the viewer lacks on the installation's account, by the part that is hidden without them. */
  readonly hidden: Readonly<Record<string, Permission>>;
  /** The part of the minutes that the viewer may see, its accounts added up; null = nothing of the account. */
  minutes(slots: readonly Slot[]): readonly SeenMinute[] | null;
  /** The part of the requests that the viewer may see; null as for `minutes`. */
  requests(rows: readonly RequestRow[]): readonly RequestRow[] | null;
}

/** The view that a viewer's permissions allow. */
export function visibilityOf(viewer: Viewer, accountId: string): Visibility {
  const sees = (part: string, account: string = accountId): boolean =>
    viewer === "host" || allows(viewer, permissionFor(part), account);
  const hidden = Object.keys(permissionOfPart).filter((part) => !sees(part));
  const isBlind = hidden.length === Object.keys(permissionOfPart).length;
  const orNull = <T>(seen: readonly T[], isHidden: boolean): readonly T[] | null =>
    isHidden && seen.length === 0 ? null : seen;
  return {
    hidden: Object.fromEntries(hidden.map((part) => [part, permissionFor(part)])),
    minutes: (slots) =>
      orNull(addedUp(slots.filter(({ part, account }) => sees(part, account))), isBlind),
    requests: (rows) =>
      orNull(
        rows.filter(({ part, account }) => sees(part, account)),
        isBlind,
      ),
  };
}

function permissionFor(part: string): Permission {
  return permissionOfPart[part] ?? "Account Read";
}

function addedUp(slots: readonly Slot[]): SeenMinute[] {
  const minutes = new Map<string, SeenMinute>();
  for (const { at, part, failed, refused, totals } of slots) {
    const key = `${at} ${part}`;
    const minute = minutes.get(key) ?? { at, part, failed: 0, refused: 0, totals: noRequests() };
    addTotals(minute.totals, totals);
    minute.failed += failed;
    minute.refused += refused;
    minutes.set(key, minute);
  }
  return [...minutes.values()];
}
