import * as v from "valibot";
import type { AccountView } from "../../../core/auth/accounts.ts";
import type { PermissionGroup } from "../../../core/auth/permission-groups.ts";
import type { PartHealth } from "../../../core/signals/health.ts";
import type { Issued } from "../../../core/agents/access/ticket.ts";
import { instant } from "./parts.ts";

const policy = v.object({
  id: v.string(),
  effect: v.picklist(["allow", "deny"]),
  permission_groups: v.array(v.object({ id: v.string(), name: v.string() })),
  resources: v.record(v.string(), v.union([v.literal("*"), v.record(v.string(), v.literal("*"))])),
});

const validity = { not_before: v.exactOptional(instant), expires_on: v.exactOptional(instant) };

const token = {
  id: v.string(),
  name: v.string(),
  status: v.picklist(["active", "disabled", "expired"]),
  issued_on: instant,
  modified_on: instant,
  last_used_on: v.exactOptional(instant),
  ...validity,
  policies: v.array(policy),
};

const account: v.GenericSchema<AccountView> = v.object({
  id: v.string(),
  name: v.string(),
  type: v.literal("standard"),
});

const permissionGroup: v.GenericSchema<Omit<PermissionGroup, "name"> & { readonly name: string }> =
  v.object({
    id: v.string(),
    name: v.string(),
    category: v.picklist(["account_and_billing", "ai_and_machine_learning", "developer_platform"]),
    scopes: v.tuple([v.literal("com.cloudflare.api.account")]),
  });

const part: v.GenericSchema<PartHealth> = v.object({
  status: v.picklist(["ready", "failing", "unavailable"]),
  reason: v.exactOptional(v.string()),
  detail: v.exactOptional(v.string()),
});

const ticket: v.GenericSchema<Issued> = v.object({ ticket: v.string(), expires_at: instant });

const text = v.nullable(v.string());
const day = v.nullable(v.pipe(v.string(), v.isoDate()));

const deprecation = v.object({
  id: v.string(),
  row: v.string(),
  kind: v.picklist(["endpoint", "field", "query", "protocol", "notice", "behaviour"]),
  class: v.picklist(["A", "B", "C", "D", "E", "F"]),
  phase: v.string(),
  mode: v.string(),
  date: day,
  eol: day,
  enforce_from: v.nullable(instant),
  methods: v.array(v.string()),
  path: text,
  fields: v.array(v.string()),
  where: text,
  replacement: v.array(v.object({ method: v.string(), path: v.string() })),
  calls: v.array(v.object({ method: v.string(), path: v.string(), client: v.string() })),
  rule: text,
  documentation_url: v.string(),
});

/** Answers of tokens, accounts, agents, deprecations and health, by their names in the document. */
export const platformAnswers: Readonly<
  Record<
    | "ApiToken"
    | "ApiTokenWithValue"
    | "ApiTokenValue"
    | "ApiTokenVerification"
    | "PermissionGroup"
    | "Account"
    | "AgentTicket"
    | "Deprecation"
    | "Liveness"
    | "Readiness",
    v.GenericSchema
  >
> = {
  ApiToken: v.object(token),
  ApiTokenWithValue: v.object({ ...token, value: v.string() }),
  ApiTokenValue: v.string(),
  ApiTokenVerification: v.object({ id: v.string(), status: v.literal("active"), ...validity }),
  PermissionGroup: permissionGroup,
  Account: account,
  AgentTicket: ticket,
  Deprecation: deprecation,
  Liveness: v.object({ status: v.literal("ok") }),
  Readiness: v.object({
    status: v.literal("ready"),
    runtime: v.string(),
    parts: v.record(v.string(), part),
    // `true`, or why this runtime lacks it.
    capabilities: v.record(v.string(), v.union([v.literal(true), v.string()])),
  }),
};
