import { BoundedSet } from "../../../work/bounded-map.ts";
import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import { accountCounts } from "../../../metrics/account-counts.ts";
import type { Platform } from "../../../ports.ts";
import type { AttemptObserver, EndedAttempt } from "../../call/ended-attempt.ts";
import { listedCost } from "../../metering/cost/cost.ts";
import { HIGHEST_COST } from "../../metering/ledger/usd.ts";
import { labels } from "../metrics/metrics.ts";
import { addFigures, noFigures, spendActor, type SpendMethods } from "./spend-actor.ts";
import {
  OTHER_MODEL,
  type SpendFigures,
  type SpendQuery,
  type SpendReport,
  type SpendRow,
} from "./spend-row.ts";

/** Adds up what requests use, by day. */
export interface SpendDays {
  /** Counts attempts that leave a row in the log, and all of virtual keys. */
  readonly count: AttemptObserver;
  /** Reports an account's spend, with all that this process has counted before. */
  report(account: string, query: SpendQuery): Promise<SpendReport>;
}

const DAY_MS = 86_400_000;
/** Groups of an account in one batch. */
const GROUPS = 1000;
/** Models that are known to have answered. */
const SERVED = 5000;

export function spendDays({ actors, system, log }: Platform): SpendDays {
  actors.define(spendActor);
  const of = (account: string): ActorClient<SpendMethods> =>
    actorClient(actors.get(spendActor.name, account));
  const counted = accountCounts<SpendRow>({
    system,
    log,
    store: (account, source, sequence, rows) =>
      of(account).add(source, sequence, [...rows.values()]),
    failure: "The spend of an account could not be stored",
  });
  const label = modelLabels();
  return {
    count(ended) {
      const { account } = ended.name;
      if (!ended.isLogged && ended.caller?.grant === undefined) return;
      const groups = counted.of(account);
      if (groups !== null) addFigures(groupOf(ended, groups, label), figuresOf(ended));
    },
    async report(account, query) {
      await counted.flush(account);
      return of(account).report(query);
    },
  };
}

function groupOf(
  { name, row, caller }: EndedAttempt,
  groups: Map<string, SpendRow>,
  label: (row: EndedAttempt["row"]) => string,
): SpendRow {
  const grant = caller?.grant;
  const day = Math.floor(row.createdAt / DAY_MS);
  const key = (grant !== undefined && caller?.id) || "";
  const [model, team] = [label(row), grant?.team ?? ""];
  const nameOf = (shown: string): string =>
    `${day}\0${name.gateway}\0${row.provider}\0${shown}\0${key}\0${team}`;
  const shown = groups.size < GROUPS || groups.has(nameOf(model)) ? model : OTHER_MODEL;
  const found = groups.get(nameOf(shown));
  if (found !== undefined) return found;
  const tags = JSON.stringify(grant?.tags ?? []);
  const group = {
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    gateway: name.gateway,
    provider: row.provider,
    model: shown,
    key,
    team,
    tags,
  };
  const made = { ...group, ...noFigures() };
  groups.set(nameOf(shown), made);
  return made;
}

/** A virtual key counts by list prices: a cost that its caller states is not what the owner pays. */
function figuresOf({ row, caller, counted, price }: EndedAttempt): SpendFigures {
  const isListed = row.customCost && caller?.grant !== undefined && counted !== null;
  const amount = isListed ? listedCost(counted, price) : row.cost;
  return {
    requests: 1,
    errors: row.success ? 0 : 1,
    cached: row.cached ? 1 : 0,
    tokens_in: row.tokensIn ?? 0,
    tokens_out: row.tokensOut ?? 0,
    cost: Math.min(amount ?? 0, HIGHEST_COST),
  };
}

/**
 * Makes the names of models. A model has its own from its first success on: invented ones do not fill the table, and a
 * secret that was sent in place of a model is not kept.
 */
function modelLabels(): (row: EndedAttempt["row"]) => string {
  const label = labels();
  const served = new BoundedSet<string>(SERVED);
  return ({ provider, model, success }) => {
    const name = `${provider}/${model}`;
    if (success) served.add(name);
    return served.has(name) ? label(model) : OTHER_MODEL;
  };
}
