import { topOf } from "../translate/endpoint-calls.ts";
import type { Row, RowRoute } from "./entry.ts";

function attacksTop(layer: string, dimension: string): RowRoute {
  const summary = `/radar/attacks/${layer}/summary/${dimension}`;
  return {
    on: `GET /radar/attacks/${layer}/top/${dimension}`,
    to: [`GET ${summary}`],
    rewriting: topOf(summary, "name"),
  };
}

/** Radar. Its dimensions are the one place where case does not matter (docs/compatibility.md). */
export const radar: readonly Row[] = [
  {
    row: "radar-verified-bots",
    date: "2025-07-01",
    eol: "2026-01-01",
    class: "A",
    lossless: "conditional",
    isAnyCase: true,
    routes: [
      { on: "GET /radar/verified_bots/top/bots", to: ["GET /radar/bots/summary/bot"] },
      {
        on: "GET /radar/verified_bots/top/categories",
        to: ["GET /radar/bots/summary/category"],
        rewriting: topOf("/radar/bots/summary/category", "botCategory"),
      },
    ],
  },
  {
    row: "radar-attacks-top",
    date: "2025-03-20",
    eol: "2025-09-20",
    class: "A",
    lossless: "conditional",
    isAnyCase: true,
    routes: [
      attacksTop("layer3", "industry"),
      attacksTop("layer3", "vertical"),
      attacksTop("layer7", "industry"),
      attacksTop("layer7", "vertical"),
    ],
  },
  {
    row: "radar-l7-magnitude",
    date: "2025-03-11",
    eol: "2025-06-11",
    kind: "query",
    class: "A",
    lossless: "conditional",
    fields: ["magnitude"],
    where: "query",
    pastCutOff: "drop",
    isAnyCase: true,
    rule: "Stop sending it; the default is MITIGATED_REQUESTS, the only supported definition. Old values: MITIGATED_REQUESTS, AFFECTED_ZONES.",
    routes: [{ on: "GET /radar/attacks/layer7/top/attacks" }],
  },
];
