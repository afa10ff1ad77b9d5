import type { Row } from "../entry.ts";

/** Organizations. */
export const organizations: readonly Row[] = [
  {
    row: "organizations",
    date: "2020-04-02",
    eol: null,
    enforceFrom: "2020-04-02",
    kind: "endpoint",
    class: "A",
    lossless: "conditional",
    rule: "The accounts API (backwards compatible).",
    routes: [
      { on: "GET /organizations/{identifier}" },
      { on: "PATCH /organizations/{identifier}" },
      { on: "GET /organizations/{organization_identifier}/invites" },
      { on: "POST /organizations/{organization_identifier}/invites" },
      { on: "GET /organizations/{organization_identifier}/invites/{identifier}" },
      { on: "PATCH /organizations/{organization_identifier}/invites/{identifier}" },
      { on: "DELETE /organizations/{organization_identifier}/invites/{identifier}" },
      { on: "GET /organizations/{organization_identifier}/members" },
      { on: "GET /organizations/{organization_identifier}/members/{identifier}" },
      { on: "PATCH /organizations/{organization_identifier}/members/{identifier}" },
      { on: "DELETE /organizations/{organization_identifier}/members/{identifier}" },
      { on: "GET /organizations/{organization_identifier}/roles" },
      { on: "GET /organizations/{organization_identifier}/roles/{identifier}" },
      { on: "GET /organizations/{organization_identifier}/audit_logs" },
      { on: "GET /organizations/{organization_identifier}/railguns" },
      { on: "POST /organizations/{organization_identifier}/railguns" },
      { on: "GET /organizations/{organization_identifier}/railguns/{identifier}" },
      { on: "PATCH /organizations/{organization_identifier}/railguns/{identifier}" },
      { on: "DELETE /organizations/{organization_identifier}/railguns/{identifier}" },
      { on: "GET /organizations/{organization_identifier}/railguns/{identifier}/zones" },
    ],
  },
];
