import { BoundedMap } from "../../../work/bounded-map.ts";
import { type ActorClient, actorClient } from "../../../actors/actor-client.ts";
import { accountCounts } from "../../../metrics/account-counts.ts";
import type { Platform } from "../../../ports.ts";
import type { GatewayName } from "../../account/settings/gateway-name.ts";
import { type MetricsMethods, metricsActor } from "./metrics-actor.ts";
import { boundedKey, type SeriesTable } from "./series-table.ts";
import { keyOf, metricSeriesKey, NO_MODEL, OTHER } from "./series.ts";
import { addRow, type CountedRow, noTotals, type Totals } from "./totals.ts";
import { secretPattern } from "../../guard/detect/secrets.ts";

/** Why a gateway sent a request away before any provider was asked. */
export type RefusalReason = "unauthorized" | "rate_limited" | "spend_limit" | "spend_unknown";

/** Counts what gateways do; counting never waits or fails. */
export interface GatewayMetrics {
  /** Counts an attempt when it has ended. */
  count(name: GatewayName, row: CountedRow): void;
  /** Counts a request that a gateway, one that exists, sent away. */
  refuse(name: GatewayName, reason: RefusalReason): void;
  /** Counts log rows that were lost, of the gateway of this actor name. */
  drop(actor: string, rows: number): void;
  /** An account's series, with all that this process has counted before. */
  read(account: string): Promise<SeriesTable>;
  /** Drops the series of a deleted gateway; failures are ignored. */
  forget(name: GatewayName): Promise<void>;
}

/** Makes the metrics of one factory. */
export function gatewayMetrics({ actors, system, log }: Platform): GatewayMetrics {
  actors.define(metricsActor);
  const of = (account: string): ActorClient<MetricsMethods> =>
    actorClient(actors.get(metricsActor.name, account));
  const label = labels();
  const counted = accountCounts<Totals>({
    system,
    log,
    store: (account, source, sequence, grown) => of(account).add(source, sequence, [...grown]),
    failure: "Gateway metrics could not be stored",
  });
  const growth = (account: string, key: string): Totals => {
    const series = counted.of(account);
    return series === null ? noTotals() : grownSeries(series, key);
  };
  return {
    count({ account, gateway }, row) {
      const key = metricSeriesKey(gateway, label(row.provider), label(row.model), row);
      addRow(growth(account, key), row);
      if (row.caller?.startsWith("key:") !== true) return;
      const own = { family: "key", gateway, key: row.caller.slice("key:".length) } as const;
      addRow(growth(account, keyOf(own)), row);
    },
    refuse({ account, gateway }, reason) {
      growth(account, keyOf({ family: "refused", gateway, reason })).count += 1;
    },
    drop(actor, rows) {
      // An account's name may contain a slash, a gateway's cannot.
      const slash = actor.lastIndexOf("/");
      const gateway = actor.slice(slash + 1);
      growth(actor.slice(0, slash), keyOf({ family: "dropped", gateway })).count += rows;
    },
    async read(account) {
      await counted.flush(account);
      return new Map(await of(account).read());
    },
    async forget({ account, gateway }) {
      // First what is on its way, or it would bring the gateway back.
      await counted.flush(account);
      await of(account)
        .forget(gateway)
        .catch((error: unknown) => {
          log("warn", "Gateway metrics could not be dropped", { gateway, error: String(error) });
        });
    },
  };
}

/** Returns the growth of a series since the last batch, of which there are not too many. */
function grownSeries(grown: Map<string, Totals>, given: string): Totals {
  const key = boundedKey(given, grown);
  const totals = grown.get(key) ?? noTotals();
  grown.set(key, totals);
  return totals;
}

/** Characters of a label. */
const LONGEST = 128;

/** Texts whose labels are remembered. */
const REMEMBERED = 1000;

/** Visible text and spaces: nothing that a line, a terminal or a dashboard takes for more than text. */
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;

/**
 * Makes labels of callers' texts: `none` for nothing, `other` for texts that are over 128 characters long, hold control
 * characters or look like a credential.
 */
export function labels(): (text: string) => string {
  const known = new BoundedMap<string, string>(REMEMBERED);
  return (text) => {
    // Nor remembered: what callers write can be the beginning of a text of megabytes, which it keeps in memory.
    if (text.length > LONGEST) return OTHER;
    const found = known.get(text);
    if (found !== undefined) return found;
    const label = labelOf(text);
    known.set(text, label);
    return label;
  };
}

function labelOf(text: string): string {
  if (text === "") return NO_MODEL;
  return VISIBLE.test(text) && secretPattern.find(text).length === 0 ? text : OTHER;
}
