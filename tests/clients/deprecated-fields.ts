import { dnsRows } from "../fakes/deprecations-records.ts";
import { answerOld } from "../fakes/deprecations-dns.ts";

/** A call of the official client with parameters or fields that have ended, or that gets such fields. */
export interface FieldCall {
  /** The entries of the table that it meets. */
  readonly entries: readonly string[];
  readonly name: string;
  readonly args: readonly unknown[];
  /** Ids of the records that it has to find. */
  readonly finds?: readonly string[];
  /** The part of the body that the API of today gets. */
  readonly sends?: object;
  /** Part of the message of its error; without one the call works. */
  readonly fails?: RegExp;
}

const zone = { zone_id: "z" };
const domains = { self_hosted_domains: ["app.example.com"] };
const sends = { destinations: [{ type: "public", uri: "app.example.com" }] };
const nameservers = { name: "a", settings: { default_nameservers: "custom.account" } };

const listed = (numbers: string, query: Readonly<Record<string, unknown>>): FieldCall => {
  const old = Object.entries(query).map(([name, value]) => [name, String(value)]);
  return {
    entries: numbers.split(" ").map((number) => `dns-list-filters.${number}`),
    name: "dns.records.list",
    args: [{ ...zone, ...query }],
    finds: answerOld(new URLSearchParams(old).toString(), dnsRows).map(({ id }) => id),
  };
};

const records = (number: string): string[] =>
  ["dns-record-zone-fields", "dns-record-locked"].map((row) => `${row}.${number}`);
const srv = { ...zone, type: "SRV", name: "_a._b.c", data: { service: "_a", port: 1 } };
const refusedSrv = (route: string): RegExp =>
  new RegExp(`data\\.service.* of ${route} is no longer supported.*use only the name outside`, "u");
const record = { ...zone, type: "A", name: "www", content: "198.51.100.4", locked: true };
const RECORD = "/zones/\\{zone_id\\}/dns_records/\\{dns_record_id\\}";

const apps = (row: string, owner: object): FieldCall[] =>
  ["list", "create", "get", "update"].map((verb, at) => {
    const body = verb === "create" || verb === "update" ? { type: "self_hosted", ...domains } : {};
    return {
      entries: [`access-apps-self-hosted-domains-${row}.0${at + 1}`],
      name: `zeroTrust.access.applications.${verb}`,
      args: [...(verb === "get" || verb === "update" ? ["app"] : []), { ...owner, ...body }],
      ...("type" in body ? { sends } : {}),
    };
  });

/** The calls, alike in all versions; a version may lack some. */
export const fieldCalls: readonly FieldCall[] = [
  listed("01", { name: "contains:n1" }),
  listed("02", { name: "starts_with:n1" }),
  listed("03", { name: "ends_with:1.example.com" }),
  listed("04", { name: "n0.example.com,n1.example.com" }),
  listed("04", { type: "A", name: "n0.example.com,n1.example.com" }),
  listed("05", { content: "contains:2" }),
  listed("06", { content: "starts_with:2" }),
  listed("07", { content: "ends_with:2" }),
  listed("08", { content: "1,2" }),
  listed("04 08", { name: "n0.example.com,n1.example.com", content: "0,1,2" }),
  {
    ...listed("09", { type: "contains:A" }),
    fails: /\/zones\/z\/dns_records\?\S* is no longer supported.*Exact type name/u,
  },
  { entries: [...records("01"), "dns-srv-data.01"], name: "dns.records.list", args: [zone] },
  { entries: records("02"), name: "dns.records.create", args: [record] },
  { entries: [...records("03"), "dns-srv-data.03"], name: "dns.records.get", args: ["1", zone] },
  { entries: records("04"), name: "dns.records.edit", args: ["1", record] },
  { entries: records("05"), name: "dns.records.update", args: ["1", record] },
  {
    entries: ["dns-error-chain.01"],
    name: "dns.records.create",
    args: [{ ...record, name: "broken" }],
    fails: /^(?!.*error_chain).*Content for A record must be a valid IPv4 address/su,
  },
  {
    entries: ["dns-srv-data.02"],
    name: "dns.records.create",
    args: [srv],
    fails: refusedSrv("POST /zones/\\{zone_id\\}/dns_records"),
  },
  {
    entries: ["dns-srv-data.04"],
    name: "dns.records.edit",
    args: ["1", srv],
    fails: refusedSrv(`PATCH ${RECORD}`),
  },
  {
    entries: ["dns-srv-data.05"],
    name: "dns.records.update",
    args: ["1", srv],
    fails: refusedSrv(`PUT ${RECORD}`),
  },
  ...apps("account", { account_id: "a" }),
  ...apps("zone", zone),
  // Old and new stay in sync: what is sent goes on.
  { entries: ["account-settings-nameservers.01"], name: "accounts.list", args: [] },
  {
    entries: ["account-settings-nameservers.02"],
    name: "accounts.create",
    args: [nameservers],
    sends: nameservers,
  },
  {
    entries: ["account-settings-nameservers.03"],
    name: "accounts.get",
    args: [{ account_id: "a" }],
  },
  {
    entries: ["account-settings-nameservers.04"],
    name: "accounts.update",
    args: [{ account_id: "a", ...nameservers }],
    sends: nameservers,
  },
  {
    entries: ["radar-l7-magnitude.01"],
    name: "radar.attacks.layer7.top.attacks",
    args: [{ magnitude: "MITIGATED_REQUESTS" }],
  },
];

/** Calls that version 3.0.0 alone has: later ones take one setting at a time. */
export const bulkCalls: readonly FieldCall[] = [
  { entries: ["cname-flattening.03"], name: "zones.settings.get", args: [zone] },
  {
    entries: ["cname-flattening.04"],
    name: "zones.settings.edit",
    args: [{ ...zone, items: [{ id: "cname_flattening", value: "flatten_all" }] }],
    sends: { items: [{ id: "cname_flattening", value: "flatten_all" }] },
  },
  ...["minify", "brotli", "mobile_redirect", "server_side_exclude"].map((id) => ({
    entries: [],
    name: "zones.settings.edit",
    args: [{ ...zone, items: [{ id, value: "on" }] }],
    fails: new RegExp(`of PATCH /zones/\\{zone_id\\}/settings is no longer supported`, "u"),
  })),
];
