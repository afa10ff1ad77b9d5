import type { Row } from "../entry.ts";

/** DNS settings. */
export const dnsSettings: readonly Row[] = [
  {
    row: "cname-flattening",
    date: "2025-06-08",
    eol: null,
    enforceFrom: "2025-06-08",
    kind: "endpoint",
    class: "A",
    lossless: "yes",
    rule: "DNS settings endpoints (show and update). Old and new stay in sync, no migration needed. off and apex behave the same -> {flatten_all_cnames:false}; on -> {flatten_all_cnames:true}.",
    routes: [
      { on: "GET /zones/{zone_id}/settings/cname_flattening" },
      { on: "PATCH /zones/{zone_id}/settings/cname_flattening" },
      {
        on: "GET /zones/{zone_id}/settings",
        kind: "field",
        class: "B",
        fields: ["cname_flattening"],
        where: "response",
      },
      {
        on: "PATCH /zones/{zone_id}/settings",
        kind: "field",
        fields: ["cname_flattening"],
        where: "request and response",
      },
    ],
  },
  {
    row: "custom-ns-availability",
    date: "2025-03-23",
    eol: null,
    enforceFrom: "2025-03-23",
    kind: "endpoint",
    class: "D",
    lossless: "no",
    rule: "None: any zone is eligible for custom nameservers.",
    routes: [{ on: "GET /accounts/{account_id}/custom_ns/availability" }],
  },
  {
    row: "dns-settings-sub",
    date: "2024-09-13",
    eol: null,
    enforceFrom: "2024-09-13",
    kind: "endpoint",
    class: "A",
    lossless: "conditional",
    rule: "DNS settings endpoints.",
    routes: [
      { on: "GET /zones/{zone_id}/dns_settings/use_apex_ns" },
      { on: "PATCH /zones/{zone_id}/dns_settings/use_apex_ns" },
      { on: "GET /zones/{zone_id}/dns_settings/secondary_overrides" },
      { on: "PATCH /zones/{zone_id}/dns_settings/secondary_overrides" },
    ],
  },
];
