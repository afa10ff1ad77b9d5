import type { ActorContext } from "../../../ports.ts";
import type { LedgerPlace, Limit, Reservation, Settlement } from "../../metering/ledger/budget.ts";
import { type Ledger, ledger } from "../../metering/ledger/ledger.ts";
import type { NowOrLater } from "../../../work/now-or-later.ts";

/** The table of uses that limits of dynamic routes and stored keys have counted, in slices of time. */
export const useSchema: readonly string[] = [
  `CREATE TABLE gateway_uses (
    actor TEXT NOT NULL, rule TEXT NOT NULL, part TEXT NOT NULL, slice BIGINT NOT NULL,
    ends BIGINT NOT NULL, amount BIGINT NOT NULL, PRIMARY KEY (actor, rule, part, slice))`,
  "CREATE INDEX gateway_uses_ends ON gateway_uses (actor, ends)",
];

/** The methods of an actor that count uses. */
export interface UseCounts {
  /** Counts a request. A limit of cost only asks whether some of it is left: the cost is known afterwards. */
  takeUse(place: LedgerPlace, limit: Limit): NowOrLater<Reservation>;
  /** Adds what requests have cost, whatever the limit: it was spent. */
  addCosts(ended: readonly Settlement[]): NowOrLater<void>;
}

export function useCounts(context: ActorContext): {
  readonly methods: UseCounts;
  readonly forget: Ledger["forget"];
} {
  const counts = ledger(context, { table: "gateway_uses", scope: "part", alerts: false });
  const claims = { requests: { needed: 1, guessed: 0 }, cost: { needed: 0, guessed: 0 } };
  return {
    methods: {
      takeUse: ({ scope, rule }, limit) =>
        counts.reserve([{ ...limit, scope, rule, text: () => rule }], claims),
      async addCosts(ended) {
        await counts.settle(ended);
      },
    },
    forget: counts.forget,
  };
}
