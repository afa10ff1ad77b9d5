import { type Json, jsonObjects } from "../../http/json.ts";
import { FILTER_VALUES_LIMIT, filtersAmong, planParameters } from "../translate/dns-filters.ts";
import { cnameFlattening, switchOf } from "../translate/endpoint-calls.ts";
import { isChained, unwrapErrorChain, wrapErrorChain } from "../translate/error-chain.ts";
import { hasSrvData } from "../translate/srv-data.ts";
import type { RawParameter } from "../translate/raw-query.ts";
import type { QueryPlan, Row, RowRoute } from "./entry.ts";

const FILTERS = "dns-list-filters";

/** A list beside other filters has no single modern request; a client that needs the union asks once per value. */
const ALTERNATIVES = `one request per value, or ?match=any&name=<a>&name=<b> as the only filter, with at most ${FILTER_VALUES_LIMIT} values`;

function planQuery(
  parameters: readonly RawParameter[],
  isEnforced: (id: string) => boolean,
): QueryPlan {
  const plan = planParameters(parameters, (number) => isEnforced(`${FILTERS}.${number}`));
  if (plan.kind === "fan-out") return { ...plan, id: `${FILTERS}.04`, instead: ALTERNATIVES };
  return plan.kind === "refuse"
    ? { kind: "refuse", id: `${FILTERS}.${plan.entry}`, instead: plan.instead }
    : plan;
}

const RECORDS = "GET /zones/{zone_id}/dns_records";

/** The routes that take or give records. */
const RECORD_ROUTES: readonly RowRoute[] = [
  { on: RECORDS },
  { on: "POST /zones/{zone_id}/dns_records" },
  ...["GET", "PATCH", "PUT"].map((method) => ({
    on: `${method} /zones/{zone_id}/dns_records/{dns_record_id}`,
    except: ["export", "usage"],
  })),
];

const usedIds = (parameters: readonly RawParameter[]): string[] =>
  filtersAmong(parameters).map((number) => `${FILTERS}.${number}`);

/** DNS records. */
export const dnsRecords: readonly Row[] = [
  {
    row: FILTERS,
    date: "2025-02-21",
    kind: "query",
    class: "A",
    lossless: "yes",
    fields: ["name=contains:<v>"],
    where: "query",
    rule: "name.contains=<v>",
    planQuery,
    usedIds,
    routes: [
      { on: RECORDS },
      {
        on: RECORDS,
        fields: ["name=starts_with:<v>"],
        rule: "name.startswith=<v>",
      },
      {
        on: RECORDS,
        fields: ["name=ends_with:<v>"],
        rule: "name.endswith=<v>",
      },
      {
        on: RECORDS,
        date: "2025-05-23",
        enforceFrom: "2025-05-23",
        lossless: "conditional",
        fields: ["name=<a>,<b>,<c>"],
        rule: "one request per name, or ?match=any&name=<a>&name=<b>&name=<c>",
      },
      {
        on: RECORDS,
        fields: ["content=contains:<v>"],
        rule: "content.contains=<v>",
      },
      {
        on: RECORDS,
        fields: ["content=starts_with:<v>"],
        rule: "content.startswith=<v>",
      },
      {
        on: RECORDS,
        fields: ["content=ends_with:<v>"],
        rule: "content.endswith=<v>",
      },
      {
        on: RECORDS,
        date: "2025-05-23",
        enforceFrom: "2025-05-23",
        lossless: "conditional",
        fields: ["content=<a>,<b>,<c>"],
        rule: "one request per content value, or ?match=any&content=<a>&content=<b>&content=<c>",
      },
      {
        on: RECORDS,
        class: "C",
        lossless: "no",
        fields: ["type=contains:<v>"],
        rule: "Exact type name such as type=CNAME; for free text the search parameter.",
      },
    ],
  },
  {
    row: "dns-record-zone-fields",
    date: "2024-11-30",
    enforceFrom: "2024-12-01",
    kind: "field",
    class: "B",
    lossless: "yes",
    fields: ["zone_id", "zone_name"],
    where: "response",
    leavesResponses: true,
    lookUp: "/zones/{zone_id}",
    oldRecord: (record, { parameters, found }) => ({
      ...record,
      zone_id: parameters["zone_id"],
      ...(typeof found["name"] === "string" && { zone_name: found["name"] }),
    }),
    rule: "Omitted from responses after the date; ignored in request bodies, so no request change. Zone name is available via GET /zones/:zone_id.",
    routes: RECORD_ROUTES.map((route) => ({ ...route, to: ["GET /zones/{zone_id}"] })),
  },
  {
    row: "dns-error-chain",
    date: "2024-10-01",
    enforceFrom: "2024-10-02",
    kind: "behaviour",
    class: "B",
    lossless: "yes",
    fields: ["errors[].error_chain"],
    where: "error response",
    sign: '"error_chain"',
    leavesResponses: true,
    isCarriedBy: (error) => Object.hasOwn(error, "error_chain"),
    modernErrors: (error) =>
      isChained(error) ? unwrapErrorChain([error]).map((one) => ({ ...one })) : [error],
    oldFailure: (body) => ({
      ...body,
      errors: wrapErrorChain(jsonObjects(body["errors"]).filter(isChained)),
    }),
    rule: 'Before: one error code 1004 "DNS Validation Error", root cause (for example code 9999) inside error_chain. After: error_chain omitted, root cause returned directly as the error.',
    routes: [{ on: "POST /zones/{zone_id}/dns_records" }],
  },
  {
    row: "dns-record-locked",
    date: "2024-07-14",
    kind: "field",
    class: "B",
    lossless: "yes",
    fields: ["locked"],
    where: "response",
    leavesResponses: true,
    oldRecord: (record) => ({ ...record, locked: false }),
    rule: "Always false; omitted from responses; still ignored when received.",
    routes: RECORD_ROUTES,
  },
  {
    row: "dns-srv-data",
    date: "2024-05-31",
    // The announcement names no day; the hosted service refused them from this one on:
    // https://github.com/cloudflare/terraform-provider-cloudflare/issues/3502
    enforceFrom: "2024-07-25",
    kind: "field",
    class: "B",
    lossless: "yes",
    fields: ["data.service", "data.proto", "data.name"],
    where: "request and response",
    // An error was announced for them; every other field has a rewrite or stays in sync.
    pastCutOff: "refuse",
    isCarriedBy: hasSrvData,
    sign: '"SRV"',
    rule: "SRV records only: use only the name outside data (reading and writing). After the end-of-life date the fields are no longer produced, and an error is returned if a client sends them. priority, weight, port, target and other record types are unaffected.",
    routes: RECORD_ROUTES.map((route) =>
      route.on?.startsWith("GET") ? { ...route, where: "response" } : route,
    ),
  },
];

const ZONE_DNS = {
  get: "GET /zones/{zone_id}/dns_settings dns.settings.zone.get",
  edit: "PATCH /zones/{zone_id}/dns_settings dns.settings.zone.edit",
};

/** The two routes of a setting that is a field of the zone's DNS settings today. */
function subSetting(name: string, facts: Omit<RowRoute, "on">): RowRoute[] {
  const path = `/zones/{zone_id}/dns_settings/${name}`;
  return [
    { on: `GET ${path}`, now: [ZONE_DNS.get], ...facts },
    { on: `PATCH ${path}`, now: [ZONE_DNS.edit], ...facts },
  ];
}

/** Lists and bulk changes of zone settings have one record per setting. */
const isFlattening = (record: Json): boolean => record["id"] === "cname_flattening";

/** DNS settings. */
export const dnsSettings: readonly Row[] = [
  {
    row: "cname-flattening",
    date: "2025-06-08",
    class: "A",
    lossless: "yes",
    rule: "DNS settings endpoints (show and update). Old and new stay in sync, no migration needed. off and apex behave the same -> {flatten_all_cnames:false}; on -> {flatten_all_cnames:true}.",
    routes: [
      {
        on: "GET /zones/{zone_id}/settings/cname_flattening",
        now: [ZONE_DNS.get],
        rewriting: cnameFlattening,
      },
      {
        on: "PATCH /zones/{zone_id}/settings/cname_flattening",
        now: [ZONE_DNS.edit],
        rewriting: cnameFlattening,
      },
      {
        on: "GET /zones/{zone_id}/settings",
        kind: "field",
        class: "B",
        fields: ["cname_flattening"],
        where: "response",
        isCarriedBy: isFlattening,
      },
      {
        on: "PATCH /zones/{zone_id}/settings",
        kind: "field",
        fields: ["cname_flattening"],
        where: "request and response",
        isCarriedBy: isFlattening,
      },
    ],
  },
  {
    row: "custom-ns-availability",
    date: "2025-03-23",
    class: "D",
    lossless: "no",
    rule: "None: any zone is eligible for custom nameservers.",
    routes: [{ on: "GET /accounts/{account_id}/custom_ns/availability" }],
  },
  {
    row: "dns-settings-sub",
    date: "2024-09-13",
    class: "A",
    lossless: "conditional",
    rule: "DNS settings endpoints: field multi_provider replaces the apex endpoint.",
    routes: [
      ...subSetting("use_apex_ns", { rewriting: switchOf("use_apex_ns", "multi_provider") }),
      ...subSetting("secondary_overrides", {
        rewriting: switchOf("secondary_overrides", "secondary_overrides"),
        rule: "DNS settings endpoints: field secondary_overrides replaces this one.",
      }),
    ],
  },
];
