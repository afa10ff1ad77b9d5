import type { NamedIn, Row } from "./entry.ts";

/** The client has no call of its own for it: `post` sends any request. */
const GRAPHQL = "POST /graphql post";

const REDIRECTS = "/zones/{zone_id}/rulesets/phases/http_request_dynamic_redirect/entrypoint";

/** A setting that has ended, and the method that changed it. */
function retired(setting: string, date: string, rule: string, method = "PATCH"): Row {
  const path = `/zones/{zone_id}/settings/${setting}`;
  return {
    row: `setting-${setting.replaceAll("_", "-")}`,
    date,
    class: "D",
    lossless: "no",
    rule,
    routes: [
      { on: `GET ${path}` },
      { on: `${method} ${path}`, namedIn: itemOfBulkChange(setting, rule) },
    ],
  };
}

/** A bulk change of settings that names a retired one: nothing of it is done. */
function itemOfBulkChange(id: string, rule: string): NamedIn {
  return {
    on: "PATCH /zones/{zone_id}/settings",
    isCarriedBy: (record) => record["id"] === id,
    subject: `The setting "${id}"`,
    instead: `leave it out, nothing was changed (${rule})`,
  };
}

/** Zone settings and zone analytics. */
export const zoneSettings: readonly Row[] = [
  retired(
    "brotli",
    "2024-08-15",
    "None; compression is available for non-enterprise zones; enterprise zones can override with compression rules.",
  ),
  retired("minify", "2024-08-05", "None (the feature was retired)."),
  {
    row: "setting-mobile-redirect",
    date: "2024-06-30",
    class: "C",
    lossless: "no",
    rule: "Single redirects (redirect rules).",
    routes: [
      {
        on: "GET /zones/{zone_id}/settings/mobile_redirect",
        now: [`GET ${REDIRECTS} rulesets.phases.get`],
      },
      {
        on: "PATCH /zones/{zone_id}/settings/mobile_redirect",
        now: [`PUT ${REDIRECTS} rulesets.phases.update`],
        namedIn: itemOfBulkChange("mobile_redirect", "Single redirects (redirect rules)."),
      },
    ],
  },
  retired("server_side_exclude", "2024-06-14", "None stated."),
  retired(
    "privacy_pass",
    "2024-03-31",
    "None; legacy tokens are no longer an alternative to challenges.",
    "POST",
  ),
  {
    row: "zone-analytics",
    date: "2021-03-01",
    class: "C",
    lossless: "no",
    rule: "The GraphQL analytics API.",
    routes: [
      { on: "GET /zones/{zone_id}/analytics/dashboard", now: [GRAPHQL] },
      { on: "GET /zones/{zone_id}/analytics/colos", now: [GRAPHQL] },
    ],
  },
];
