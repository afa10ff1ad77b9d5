import type { Row, RowRoute } from "./entry.ts";

/** The calls of the rulesets of a phase for each method. */
function rulesOf(phase: string): Readonly<Record<string, readonly string[]>> {
  const rules = "/zones/{zone_id}/rulesets/{ruleset_id}/rules";
  const entry = `/zones/{zone_id}/rulesets/phases/${phase}/entrypoint`;
  return {
    GET: [`GET ${entry} rulesets.phases.get`],
    POST: [`POST ${rules} rulesets.rules.create`],
    PUT: [`PATCH ${rules}/{rule_id} rulesets.rules.edit`],
    PATCH: [`PATCH ${rules}/{rule_id} rulesets.rules.edit`],
    DELETE: [`DELETE ${rules}/{rule_id} rulesets.rules.delete`],
  };
}

/** Routes that are rules of a phase today. */
function routesOf(phase: string, routes: readonly string[]): RowRoute[] {
  const calls = rulesOf(phase);
  return routes.map((on) => ({ on, now: calls[on.split(" ")[0] ?? ""] ?? [] }));
}

/** Firewall rules, filters, previous managed rules and rate limits. */
export const firewall: readonly Row[] = [
  {
    row: "firewall-rules",
    date: "2025-06-15",
    class: "C",
    lossless: "no",
    rule: "Custom rules of the web application firewall.",
    routes: routesOf("http_request_firewall_custom", [
      "GET /zones/{zone_id}/firewall/rules",
      "POST /zones/{zone_id}/firewall/rules",
      "PATCH /zones/{zone_id}/firewall/rules",
      "PUT /zones/{zone_id}/firewall/rules",
      "DELETE /zones/{zone_id}/firewall/rules",
      "GET /zones/{zone_id}/firewall/rules/{rule_id}",
      "PATCH /zones/{zone_id}/firewall/rules/{rule_id}",
      "PUT /zones/{zone_id}/firewall/rules/{rule_id}",
      "DELETE /zones/{zone_id}/firewall/rules/{rule_id}",
      "GET /zones/{zone_id}/filters",
      "POST /zones/{zone_id}/filters",
      "PUT /zones/{zone_id}/filters",
      "DELETE /zones/{zone_id}/filters",
      "GET /zones/{zone_id}/filters/{filter_id}",
      "PUT /zones/{zone_id}/filters/{filter_id}",
      "DELETE /zones/{zone_id}/filters/{filter_id}",
    ]),
  },
  {
    row: "waf-previous-version",
    date: "2025-06-15",
    class: "C",
    lossless: "no",
    rule: "Rulesets API with the new managed rules version.",
    routes: routesOf("http_request_firewall_managed", [
      "GET /zones/{zone_id}/firewall/waf/packages",
      "GET /zones/{zone_id}/firewall/waf/packages/{package_id}",
      "PATCH /zones/{zone_id}/firewall/waf/packages/{package_id}",
      "GET /zones/{zone_id}/firewall/waf/packages/{package_id}/groups",
      "GET /zones/{zone_id}/firewall/waf/packages/{package_id}/groups/{group_id}",
      "PATCH /zones/{zone_id}/firewall/waf/packages/{package_id}/groups/{group_id}",
      "GET /zones/{zone_id}/firewall/waf/packages/{package_id}/rules",
      "GET /zones/{zone_id}/firewall/waf/packages/{package_id}/rules/{rule_id}",
      "PATCH /zones/{zone_id}/firewall/waf/packages/{package_id}/rules/{rule_id}",
      "GET /zones/{zone_id}/firewall/waf/overrides",
      "POST /zones/{zone_id}/firewall/waf/overrides",
      "GET /zones/{zone_id}/firewall/waf/overrides/{override_id}",
      "PUT /zones/{zone_id}/firewall/waf/overrides/{override_id}",
      "DELETE /zones/{zone_id}/firewall/waf/overrides/{override_id}",
    ]),
  },
  {
    row: "rate-limits",
    date: "2025-06-15",
    class: "C",
    lossless: "no",
    rule: "Rulesets API with new rate limiting rules.",
    routes: routesOf("http_ratelimit", [
      "GET /zones/{zone_id}/rate_limits",
      "POST /zones/{zone_id}/rate_limits",
      "GET /zones/{zone_id}/rate_limits/{rate_limit_id}",
      "PUT /zones/{zone_id}/rate_limits/{rate_limit_id}",
      "DELETE /zones/{zone_id}/rate_limits/{rate_limit_id}",
    ]),
  },
];
