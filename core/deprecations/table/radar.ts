import { topOf } from "../translate/endpoint-calls.ts";
import type { Row } from "./entry.ts";

/** Radar. Its dimensions are the one place where case does not matter (docs/compatibility.md). */
export const radar: readonly Row[] = [
  {
    row: "radar-verified-bots",
    date: "2025-07-01",
    eol: "2026-01-01",
    enforceFrom: "2026-01-01",
    kind: "endpoint",
    class: "A",
    lossless: "conditional",
    rule: null,
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
    enforceFrom: "2025-09-20",
    kind: "endpoint",
    class: "A",
    lossless: "conditional",
    rule: null,
    isAnyCase: true,
    routes: [
      {
        on: "GET /radar/attacks/layer3/top/industry",
        to: ["GET /radar/attacks/layer3/summary/industry"],
        rewriting: topOf("/radar/attacks/layer3/summary/industry", "name"),
      },
      {
        on: "GET /radar/attacks/layer3/top/vertical",
        to: ["GET /radar/attacks/layer3/summary/vertical"],
        rewriting: topOf("/radar/attacks/layer3/summary/vertical", "name"),
      },
      {
        on: "GET /radar/attacks/layer7/top/industry",
        to: ["GET /radar/attacks/layer7/summary/industry"],
        rewriting: topOf("/radar/attacks/layer7/summary/industry", "name"),
      },
      {
        on: "GET /radar/attacks/layer7/top/vertical",
        to: ["GET /radar/attacks/layer7/summary/vertical"],
        rewriting: topOf("/radar/attacks/layer7/summary/vertical", "name"),
      },
    ],
  },
  {
    row: "radar-l7-magnitude",
    date: "2025-03-11",
    eol: "2025-06-11",
    enforceFrom: "2025-06-11",
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
