import { imageUpload, atPath } from "../translate/endpoint-calls.ts";
import type { Row, RowRoute } from "./entry.ts";

/** Accounts. */
export const accounts: readonly Row[] = [
  {
    row: "account-settings-nameservers",
    date: "2025-03-14",
    kind: "field",
    class: "B",
    lossless: "conditional",
    fields: ["settings.default_nameservers", "settings.use_account_custom_ns_by_default"],
    where: "response",
    rule: "DNS settings endpoints; new field .zone_defaults.nameservers.type with values cloudflare.standard, cloudflare.standard.random, custom.account, custom.tenant. Old and new stay in sync.",
    routes: [
      { on: "GET /accounts" },
      { on: "POST /accounts", class: "A", where: "request and response" },
      { on: "GET /accounts/{account_id}" },
      { on: "PUT /accounts/{account_id}", class: "A", where: "request and response" },
    ],
  },
  {
    row: "tunnels",
    date: "2024-02-04",
    class: "C",
    lossless: "no",
    rule: "The tunnel API equivalents.",
    routes: [
      {
        on: "GET /accounts/{account_id}/tunnels",
        now: ["GET /accounts/{account_id}/cfd_tunnel zeroTrust.tunnels.cloudflared.list"],
      },
      {
        on: "POST /accounts/{account_id}/tunnels",
        now: ["POST /accounts/{account_id}/cfd_tunnel zeroTrust.tunnels.cloudflared.create"],
      },
      {
        on: "GET /accounts/{account_id}/tunnels/{tunnel_id}",
        now: [
          "GET /accounts/{account_id}/cfd_tunnel/{tunnel_id} zeroTrust.tunnels.cloudflared.get",
        ],
      },
      {
        on: "DELETE /accounts/{account_id}/tunnels/{tunnel_id}",
        now: [
          "DELETE /accounts/{account_id}/cfd_tunnel/{tunnel_id} zeroTrust.tunnels.cloudflared.delete",
        ],
      },
    ],
  },
  {
    row: "billing",
    date: "2023-06-06",
    class: "D",
    lossless: "no",
    rule: "No API replacement; use the account dashboard.",
    routes: [
      { on: "GET /accounts/{account_id}/billing/profile" },
      { on: "GET /user/billing/profile" },
      { on: "GET /user/billing/history" },
    ],
  },
  {
    row: "images-direct-upload",
    date: "2022-07-01",
    class: "A",
    lossless: "conditional",
    rule: "v2 adds metadata, access policy, image identifier.",
    routes: [
      {
        on: "POST /accounts/{account_id}/images/v1/direct_upload",
        to: ["POST /accounts/{account_id}/images/v2/direct_upload"],
        rewriting: imageUpload,
      },
    ],
  },
  {
    row: "script-monitor",
    date: "2022-10-11",
    class: "A",
    lossless: "yes",
    rule: "Use page_shield in those routes.",
    routes: [
      {
        on: "* /zones/{zone_id}/script_monitor/**",
        now: [
          "GET /zones/{zone_id}/page_shield pageShield.get",
          "PUT /zones/{zone_id}/page_shield pageShield.update",
          "GET /zones/{zone_id}/page_shield/scripts pageShield.scripts.list",
          "GET /zones/{zone_id}/page_shield/scripts/{script_id} pageShield.scripts.get",
        ],
        rewriting: atPath("/zones/{zone_id}/page_shield/**"),
      },
    ],
  },
];

/** The product has ended, and no SDK has a call for it: https://github.com/cloudflare/cloudflare-go/pull/1312 */
const RAILGUN_ENDED = "None: Railgun itself has ended, and the accounts API has no such routes.";
const RAILGUNS = [
  "GET /organizations/{organization_identifier}/railguns",
  "POST /organizations/{organization_identifier}/railguns",
  "GET /organizations/{organization_identifier}/railguns/{identifier}",
  "PATCH /organizations/{organization_identifier}/railguns/{identifier}",
  "DELETE /organizations/{organization_identifier}/railguns/{identifier}",
  "GET /organizations/{organization_identifier}/railguns/{identifier}/zones",
] as const;

/** Organizations. */
export const organizations: readonly Row[] = [
  {
    row: "organizations",
    date: "2020-04-02",
    class: "A",
    lossless: "conditional",
    rule: "The accounts API (backwards compatible).",
    routes: [
      {
        on: "GET /organizations/{identifier}",
        now: ["GET /accounts/{account_id} accounts.get"],
        rewriting: atPath("/accounts/{identifier}"),
        // Organizations are another product there since 2025 (`client.organizations` of SDK 6.0.0).
        isReused: true,
      },
      {
        on: "PATCH /organizations/{identifier}",
        now: ["PUT /accounts/{account_id} accounts.update"],
      },
      // An invitation is a member whose status is pending.
      {
        on: "GET /organizations/{organization_identifier}/invites",
        now: ["GET /accounts/{account_id}/members accounts.members.list"],
      },
      {
        on: "POST /organizations/{organization_identifier}/invites",
        now: ["POST /accounts/{account_id}/members accounts.members.create"],
      },
      {
        on: "GET /organizations/{organization_identifier}/invites/{identifier}",
        now: ["GET /accounts/{account_id}/members/{member_id} accounts.members.get"],
      },
      {
        on: "PATCH /organizations/{organization_identifier}/invites/{identifier}",
        now: ["PUT /accounts/{account_id}/members/{member_id} accounts.members.update"],
      },
      {
        on: "DELETE /organizations/{organization_identifier}/invites/{identifier}",
        now: ["DELETE /accounts/{account_id}/members/{member_id} accounts.members.delete"],
      },
      {
        on: "GET /organizations/{organization_identifier}/members",
        now: ["GET /accounts/{account_id}/members accounts.members.list"],
        rewriting: atPath("/accounts/{organization_identifier}/members"),
      },
      {
        on: "GET /organizations/{organization_identifier}/members/{identifier}",
        now: ["GET /accounts/{account_id}/members/{member_id} accounts.members.get"],
        rewriting: atPath("/accounts/{organization_identifier}/members/{identifier}"),
      },
      {
        on: "PATCH /organizations/{organization_identifier}/members/{identifier}",
        now: ["PUT /accounts/{account_id}/members/{member_id} accounts.members.update"],
      },
      {
        on: "DELETE /organizations/{organization_identifier}/members/{identifier}",
        now: ["DELETE /accounts/{account_id}/members/{member_id} accounts.members.delete"],
        rewriting: atPath("/accounts/{organization_identifier}/members/{identifier}"),
      },
      {
        on: "GET /organizations/{organization_identifier}/roles",
        now: ["GET /accounts/{account_id}/roles accounts.roles.list"],
        rewriting: atPath("/accounts/{organization_identifier}/roles"),
      },
      {
        on: "GET /organizations/{organization_identifier}/roles/{identifier}",
        now: ["GET /accounts/{account_id}/roles/{role_id} accounts.roles.get"],
        rewriting: atPath("/accounts/{organization_identifier}/roles/{identifier}"),
      },
      {
        on: "GET /organizations/{organization_identifier}/audit_logs",
        now: ["GET /accounts/{account_id}/audit_logs auditLogs.list"],
        rewriting: atPath("/accounts/{organization_identifier}/audit_logs"),
      },
      ...RAILGUNS.map((on): RowRoute => ({ on, class: "D", lossless: "no", rule: RAILGUN_ENDED })),
    ],
  },
];
