/** The unit of a limit: USD, tokens in and out, or requests. */
export type LimitType = "cost" | "tokens" | "requests";

/** A calendar's period in UTC; weeks begin on Monday. */
export type Period = "day" | "week" | "month";

/** How much may be used in which time. */
export type Limit = {
  readonly limitType: LimitType;
  readonly limit: number;
  /** Seconds, or a period; null = for ever. */
  readonly window: number | Period | null;
  readonly technique: "fixed" | "sliding";
  /** Whether a request passes that does not fit. @default false */
  readonly soft?: boolean;
};

export type Budget = Limit & {
  /** Names what is counted, whatever the limit's height: raising it does not begin a new count. */
  readonly rule: string;
  /** The part of the rule that is counted: a virtual key's id, or a partition; empty = the rule has no parts. */
  readonly scope: string;
  /** The limit in words, for people: few requests need them. */
  readonly text: () => string;
};

/** The amount that a request may use. */
export type Claim = {
  /** Has to fit into what is left, or the request is refused. */
  readonly needed: number;
  /** Set aside beside it, as far as that much is left. */
  readonly guessed: number;
};

/** The amounts that a request may use, by the units of limits; null is not counted. */
export type Claims = { readonly [Type in LimitType]?: Claim | null | undefined };

/** The amounts that a request has used; null stays as it was set aside. */
export type Amounts = { readonly [Type in LimitType]?: number | null | undefined };

/** The amount set aside in one budget, in units. A type, and not an interface: it crosses to an actor and back. */
export type LedgerEntry = Pick<Budget, "rule" | "scope" | "limitType"> & {
  /** The beginning of the slice of time in which it is entered, and when it stops to count. Unix ms. */
  readonly slice: number;
  readonly ends: number;
  readonly reserved: number;
};

/** The entries that were set aside, or the budget into which the request does not fit. */
export type Reservation =
  | { readonly entries: readonly LedgerEntry[]; readonly alerts: readonly BudgetAlert[] }
  | {
      /** The budget in words, for people. */
      readonly refused: string;
      /** Milliseconds until some of it is free again; null = never. */
      readonly wait: number | null;
    };

/** The amounts set aside for a request, and those that it has used. */
export type Settlement = {
  readonly entries: readonly LedgerEntry[];
  readonly amounts: Amounts;
};

export interface LedgerSum {
  readonly used: number;
  /** When the last of it stops to count, Unix ms; null for nothing. */
  readonly last: number | null;
}

/** The table of a ledger, the column of its scopes, and whether it tells of budgets that are used up to a share. */
export type LedgerTable =
  | { readonly table: "gateway_spend"; readonly scope: "part"; readonly alerts: true }
  | { readonly table: "gateway_key_usage"; readonly scope: "key_id"; readonly alerts: true }
  | { readonly table: "gateway_uses"; readonly scope: "part"; readonly alerts: false };

/** The amount in one slice of time, in units: integers, so that a sum does not depend on its order. */
export interface Slice extends Omit<LedgerEntry, "reserved" | "limitType"> {
  amount: number;
}

export type LedgerPlace = Pick<Budget, "rule" | "scope">;
export type LedgerSlices = Map<number, Slice>;

/** A budget of which a share is used. Plain, because it crosses from an actor. */
export type BudgetAlert = Pick<Budget, "rule" | "scope" | "limitType" | "limit" | "window"> & {
  /** The limit in words, for people. */
  readonly text: string;
  /** In percent: 50, 80 or 100. */
  readonly share: number;
  /** The slice of time in which it is told once, and when what counts now has left the window. Unix ms. */
  readonly slice: number;
  readonly ends: number;
};
