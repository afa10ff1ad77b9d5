import type { NamedIn, Row } from "./entry.ts";

/** The client has no call of its own for it: `post` sends any request. */
const GRAPHQL = "POST /graphql post";

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
  {
    row: "setting-brotli",
    date: "2024-08-15",
    eol: null,
    enforceFrom: "2024-08-15",
    kind: "endpoint",
    class: "D",
    lossless: "no",
    rule: "None; compression is available for non-enterprise zones; enterprise zones can override with compression rules.",
    routes: [
      { on: "GET /zones/{zone_id}/settings/brotli" },
      {
        on: "PATCH /zones/{zone_id}/settings/brotli",
        namedIn: itemOfBulkChange(
          "brotli",
          "None; compression is available for non-enterprise zones; enterprise zones can override with compression rules.",
        ),
      },
    ],
  },
  {
    row: "setting-minify",
    date: "2024-08-05",
    eol: null,
    enforceFrom: "2024-08-05",
    kind: "endpoint",
    class: "D",
    lossless: "no",
    rule: "None (the feature was retired).",
    routes: [
      { on: "GET /zones/{zone_id}/settings/minify" },
      {
        on: "PATCH /zones/{zone_id}/settings/minify",
        namedIn: itemOfBulkChange("minify", "None (the feature was retired)."),
      },
    ],
  },
  {
    row: "setting-mobile-redirect",
    date: "2024-06-30",
    eol: null,
    enforceFrom: "2024-06-30",
    kind: "endpoint",
    class: "C",
    lossless: "no",
    rule: "Single redirects (redirect rules).",
    routes: [
      {
        on: "GET /zones/{zone_id}/settings/mobile_redirect",
        now: [
          "GET /zones/{zone_id}/rulesets/phases/http_request_dynamic_redirect/entrypoint rulesets.phases.get",
        ],
      },
      {
        on: "PATCH /zones/{zone_id}/settings/mobile_redirect",
        now: [
          "PUT /zones/{zone_id}/rulesets/phases/http_request_dynamic_redirect/entrypoint rulesets.phases.update",
        ],
        namedIn: itemOfBulkChange("mobile_redirect", "Single redirects (redirect rules)."),
      },
    ],
  },
  {
    row: "setting-server-side-exclude",
    date: "2024-06-14",
    eol: null,
    enforceFrom: "2024-06-14",
    kind: "endpoint",
    class: "D",
    lossless: "no",
    rule: "None stated.",
    routes: [
      { on: "GET /zones/{zone_id}/settings/server_side_exclude" },
      {
        on: "PATCH /zones/{zone_id}/settings/server_side_exclude",
        namedIn: itemOfBulkChange("server_side_exclude", "None stated."),
      },
    ],
  },
  {
    row: "setting-privacy-pass",
    date: "2024-03-31",
    eol: null,
    enforceFrom: "2024-03-31",
    kind: "endpoint",
    class: "D",
    lossless: "no",
    rule: "None; legacy tokens are no longer an alternative to challenges.",
    routes: [
      { on: "GET /zones/{zone_id}/settings/privacy_pass" },
      {
        on: "POST /zones/{zone_id}/settings/privacy_pass",
        namedIn: itemOfBulkChange(
          "privacy_pass",
          "None; legacy tokens are no longer an alternative to challenges.",
        ),
      },
    ],
  },
  {
    row: "zone-analytics",
    date: "2021-03-01",
    eol: null,
    enforceFrom: "2021-03-01",
    kind: "endpoint",
    class: "C",
    lossless: "no",
    rule: "The GraphQL analytics API.",
    routes: [
      { on: "GET /zones/{zone_id}/analytics/dashboard", now: [GRAPHQL] },
      { on: "GET /zones/{zone_id}/analytics/colos", now: [GRAPHQL] },
    ],
  },
];
