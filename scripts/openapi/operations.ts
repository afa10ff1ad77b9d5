import { gatewayOperations } from "./gateway-operations.ts";
import { below, type Operations, paged } from "./operation.ts";
import { crawls, rendering } from "./rendering-operations.ts";
import { publicSearch, search } from "./search-operations.ts";
import { portal, webhooks } from "./webhook-operations.ts";

const ACCOUNT = "/client/v4/accounts/:account_id";

const tokens: Operations = {
  "GET ": {
    results: "ApiToken",
    summary: "List the API tokens",
    query: [...paged, "direction", "include_expired"],
  },
  "POST ": {
    result: "ApiTokenWithValue",
    summary: "Create an API token; its value is shown once",
    body: "Token",
  },
  "GET /verify": {
    result: "ApiTokenVerification",
    summary: "Read whether the presented token is valid",
  },
  "GET /permission_groups": {
    results: "PermissionGroup",
    summary: "List the permissions that a token can have",
    query: ["name", "scope"],
  },
  "GET /:token_id": { result: "ApiToken", summary: "Read an API token, without its value" },
  "PUT /:token_id": { result: "ApiToken", summary: "Change an API token", body: "Token" },
  "DELETE /:token_id": { result: "IdOnly", summary: "Delete an API token" },
  "PUT /:token_id/value": {
    result: "ApiTokenValue",
    summary: "Give an API token a new value, shown once",
  },
};

/** Every operation by method and route; a test compares them with the routes there are. */
export const operations: Operations = {
  ...below("/client/v4/user/tokens", tokens),
  ...below(`${ACCOUNT}/tokens`, tokens),
  "GET /client/v4/accounts": {
    results: "Account",
    summary: "List the accounts that the token may use",
    query: [...paged, "direction", "name"],
  },
  "GET /client/v4/accounts/:account_id": { result: "Account", summary: "Read an account" },
  ...gatewayOperations,
  ...below(`${ACCOUNT}/browser-rendering`, { ...rendering, ...crawls }),
  ...below(`${ACCOUNT}/browser-run`, { ...rendering, ...crawls }),
  ...below(`${ACCOUNT}/ai-search`, search),
  ...below("/ai-search/:endpoint_id", publicSearch),
  ...below(`${ACCOUNT}/webhooks`, webhooks),
  ...below("/client/v4/webhook-portal", portal),
  "POST /webhooks/:provider": {
    result: "WebhookReceived",
    summary: "Receive a webhook whose body names the entity",
    freeBody: "json",
    answer: "json",
    status: [200, 202],
    isPublic: true,
  },
  "POST /webhooks/:provider/:entity_id": {
    result: "WebhookReceived",
    summary: "Receive a webhook for an entity",
    freeBody: "json",
    answer: "json",
    status: [200, 202],
    isPublic: true,
  },
  "GET /agents/:class/:name": {
    summary: "Connect to an agent by WebSocket, or ask its onRequest",
    answer: "json",
  },
  "GET /agents/:class/:name/events": {
    summary: "Follow an agent's events and state",
    answer: "events",
  },
  "POST /agents/:class/:name/ticket": {
    result: "AgentTicket",
    status: 201,
    summary: "Make a ticket that a browser connects with",
    body: "Ticket",
    bodyOptional: true,
    example: { edit: false },
  },
  "GET /client/v4/deprecations": {
    results: "Deprecation",
    summary: "List the deprecations, all or those of one phase",
    query: ["phase"],
  },
  "GET /client/v4/deprecations/settings": {
    results: "DeprecationSettings",
    summary: "List the settings of deprecations that were made while the server runs",
  },
  "PUT /client/v4/deprecations/settings/:id": {
    result: "DeprecationSettings",
    summary: "Set when and how a deprecation ends, for all servers",
    body: "DeprecationSettings",
    example: { pause: true },
  },
  "DELETE /client/v4/deprecations/settings/:id": {
    result: "IdOnly",
    summary: "Take the settings of a deprecation back",
  },
  "GET /client/v4/deprecations/:id": {
    result: "Deprecation",
    summary: "Read a deprecation",
  },
  [`GET ${ACCOUNT}/deprecations/uses`]: {
    results: "DeprecatedUse",
    summary: "List the tokens that use deprecated APIs",
  },
  "GET /healthz": {
    result: "Liveness",
    summary: "Read whether the process answers",
    answer: "json",
    isPublic: true,
  },
  "GET /readyz": {
    result: "Readiness",
    summary: "Read how every part is",
    answer: "json",
    isPublic: true,
  },
  "GET /metrics": { summary: "Read the platform's metrics, for Prometheus", answer: "text" },
};
