import { gatewayOperations } from "./gateway-operations.ts";
import { below, type Operation, type Operations, paged } from "./operation.ts";

const ACCOUNT = "/client/v4/accounts/:account_id";
const page = { url: "https://example.com" };
const query = { messages: [{ role: "user", content: "How do I rotate the master key?" }] };

const tokens: Operations = {
  "GET ": { summary: "List the API tokens", query: [...paged, "direction", "include_expired"] },
  "POST ": { summary: "Create an API token; its value is shown once", body: "Token" },
  "GET /verify": { summary: "Read whether the presented token is valid" },
  "GET /permission_groups": {
    summary: "List the permissions that a token can have",
    query: ["name", "scope"],
  },
  "GET /:token_id": { summary: "Read an API token, without its value" },
  "PUT /:token_id": { summary: "Change an API token", body: "Token" },
  "DELETE /:token_id": { summary: "Delete an API token" },
  "PUT /:token_id/value": { summary: "Give an API token a new value, shown once" },
};

const examples: Readonly<Record<string, unknown>> = {
  scrape: { ...page, elements: [{ selector: "h1" }] },
  json: { ...page, prompt: "The product's name and price" },
};

const rendering: Operations = Object.fromEntries(
  (
    [
      ["pdf", "RenderPdf", "Render a page as PDF", "pdf"],
      ["screenshot", "RenderScreenshot", "Take a picture of a page", "image"],
      ["markdown", "Render", "Convert a page to Markdown", "envelope"],
      ["content", "Render", "Read a page's HTML once it has loaded", "envelope"],
      ["json", "RenderJson", "Find data in a page with a model", "envelope"],
      ["links", "RenderLinks", "List a page's links", "envelope"],
      ["scrape", "RenderScrape", "Read elements of a page by CSS selectors", "envelope"],
      ["snapshot", "RenderSnapshot", "Read a page's HTML and take a picture of it", "envelope"],
      [
        "accessibilityTree",
        "RenderAccessibilityTree",
        "Read a page's accessibility tree",
        "envelope",
      ],
    ] as const
  ).map(([name, body, summary, answer]): [string, Operation] => [
    `POST /${name}`,
    {
      summary,
      body,
      answer,
      query: ["cacheTTL"],
      example: examples[name] ?? page,
    },
  ]),
);

const crawls: Operations = {
  "POST /crawl": {
    summary: "Crawl a site; answers the id of the job",
    body: "RenderCrawl",
    query: ["cacheTTL"],
    example: { ...page, render: false, formats: ["markdown"] },
  },
  "GET /crawl": { summary: "List the crawls", query: ["cursor", "limit", "status"] },
  "GET /crawl/:job_id": {
    summary: "Read a crawl and its pages",
    query: ["cursor", "limit", "status", "cacheTTL"],
  },
  "GET /crawl/:job_id/llms.txt": {
    summary: "Read the llms.txt of the pages of a crawl",
    answer: "text",
  },
  "POST /map": {
    summary: "List the addresses of a site: its sitemaps, and the links of its start",
    body: "RenderMap",
    example: page,
  },
  "DELETE /crawl/:job_id": { summary: "Cancel a crawl" },
};

const instances: Operations = {
  "GET ": { summary: "List the search instances", query: [...paged, "search"] },
  "POST ": { summary: "Create a search instance", body: "Instance", example: { id: "docs" } },
  "GET /:id": { summary: "Read a search instance" },
  "PUT /:id": {
    summary: "Change a search instance",
    body: "InstanceChange",
    example: { chunk_size: 512 },
  },
  "DELETE /:id": { summary: "Delete a search instance and its items" },
  "GET /:id/stats": { summary: "Count the items of an instance by status" },
  "POST /:id/search": {
    summary: "Search: the chunks that fit best",
    body: "Search",
    example: { ...query, ai_search_options: { retrieval: { max_num_results: 5 } } },
  },
  "POST /:id/chat/completions": {
    summary: "Search, and answer from what was found",
    body: "SearchChat",
    example: { ...query, stream: false },
    answer: "completion",
  },
  "POST /:id/mcp": {
    summary: "Ask by the Model Context Protocol (Streamable HTTP): tools search and fetch",
    freeBody: "json",
    example: { jsonrpc: "2.0", id: 1, method: "tools/list" },
  },
  "GET /:id/items": {
    summary: "List the items",
    query: [...paged, "item_id", "key", "search", "source", "status", "sort_by", "metadata_filter"],
  },
  "POST /:id/items": { summary: "Upload a file to be indexed", freeBody: "form" },
  "PUT /:id/items": {
    summary: "Index an uploaded item again, by its key",
    body: "ItemPut",
    example: { key: "guide.md", next_action: "INDEX" },
  },
  "GET /:id/items/:item_id": { summary: "Read an item" },
  "PATCH /:id/items/:item_id": {
    summary: "Index an item again",
    body: "ItemSync",
    example: { next_action: "INDEX" },
  },
  "DELETE /:id/items/:item_id": { summary: "Delete an item" },
  "GET /:id/items/:item_id/chunks": {
    summary: "List an item's chunks",
    query: ["limit", "offset"],
  },
  "GET /:id/items/:item_id/logs": {
    summary: "List what happened to an item",
    query: ["limit", "cursor"],
  },
  "GET /:id/items/:item_id/download": {
    summary: "Download an item as it was uploaded",
    answer: "binary",
  },
  "GET /:id/jobs": { summary: "List the jobs", query: [...paged] },
  "POST /:id/jobs": {
    summary: "Start a job that indexes again what needs it",
    body: "Job",
    bodyOptional: true,
    example: { description: "after the release" },
  },
  "GET /:id/jobs/:job_id": { summary: "Read a job" },
  "PATCH /:id/jobs/:job_id": {
    summary: "Cancel a job",
    body: "JobCancel",
    example: { action: "cancel" },
  },
  "GET /:id/jobs/:job_id/logs": { summary: "List what a job did", query: [...paged] },
};

const search: Operations = {
  ...below("/instances", instances),
  "GET /namespaces": { summary: "List the namespaces", query: [...paged, "search"] },
  "POST /namespaces": {
    summary: "Create a namespace",
    body: "Namespace",
    example: { name: "team-a" },
  },
  "GET /namespaces/:name": { summary: "Read a namespace" },
  "PUT /namespaces/:name": {
    summary: "Change a namespace",
    body: "NamespaceChange",
    example: { description: "Documents of team A" },
  },
  "DELETE /namespaces/:name": { summary: "Delete an empty namespace" },
  "POST /namespaces/:name/search": {
    summary: "Search several instances of a namespace",
    body: "Search",
    example: { ...query, ai_search_options: { instance_ids: ["docs"] } },
  },
  "POST /namespaces/:name/chat/completions": {
    summary: "Search several instances, and answer",
    body: "SearchChat",
    example: { ...query, ai_search_options: { instance_ids: ["docs"] } },
    answer: "completion",
  },
  ...below("/namespaces/:name/instances", instances),
};

const entityFilter = ["agent", "source", "cursor", "limit"];
const eventFilter = ["entity", "agent", "source", "type", "before", "limit"];

const webhooks: Operations = {
  "GET /sources": { summary: "List the configured senders" },
  "GET /entities": {
    summary: "List the entities that events came for, the newest first",
    query: entityFilter,
  },
  "GET /entities/state": {
    summary: "Read the state and the schedules of an entity's agent",
    query: ["entity", "agent", "source"],
  },
  "GET /events": { summary: "List the events of an entity", query: eventFilter },
  "POST /events/:id/replay": {
    summary: "Give an event to its agent again",
    query: eventFilter,
    status: 202,
  },
  "GET /failures": {
    summary: "List the events that agents could not handle yet",
    query: [...entityFilter, "entity"],
  },
  "GET /dead-letters": {
    summary: "List the events that were given up",
    query: [...entityFilter, "entity"],
  },
  "POST /dead-letters/:id/replay": {
    summary: "Give a dead letter to its agent again",
    query: eventFilter,
    status: 202,
  },
  "GET /replays": { summary: "List the replays over many entities" },
  "POST /replays": {
    summary: "Replay events or dead letters of many entities",
    body: "EntityReplay",
    example: { of: "dead-letters", source: "github" },
    status: 202,
  },
  "GET /replays/:id": { summary: "Read a replay" },
  "POST /replays/:id/cancel": { summary: "Cancel a replay" },
  "GET /stats": { summary: "Count deliveries and events" },
  "GET /endpoints": { summary: "List the endpoints that webhooks are sent to" },
  "POST /endpoints": {
    summary: "Create an endpoint; its secret is shown once",
    body: "Endpoint",
    example: { url: "https://app.example.com/hooks", types: ["order.*"] },
    status: 201,
  },
  "GET /endpoints/:id": { summary: "Read an endpoint" },
  "PATCH /endpoints/:id": {
    summary: "Change an endpoint",
    body: "EndpointChange",
    example: { enabled: true },
  },
  "DELETE /endpoints/:id": { summary: "Delete an endpoint" },
  "POST /endpoints/:id/rotate": {
    summary: "Give an endpoint a new secret, shown once",
    body: "EndpointRotation",
    bodyOptional: true,
    example: { grace_seconds: 3600 },
  },
  "POST /send": {
    summary: "Send a webhook to the endpoints that want its type",
    body: "WebhookMessage",
    example: { type: "order.paid", payload: { id: 7 } },
    status: 202,
  },
  "GET /deliveries": {
    summary: "List the deliveries",
    query: ["status", "endpoint_id", "message_id", "entity", "limit"],
  },
  "GET /deliveries/:id": { summary: "Read a delivery with its attempts" },
  "POST /deliveries/:id/replay": { summary: "Deliver again", status: 202 },
  "POST /deliveries/replay": {
    summary: "Deliver many again",
    body: "DeliveryReplay",
    bodyOptional: true,
    example: { status: "dead" },
    status: 202,
  },
};

/** Every operation by method and route; a test compares them with the routes there are. */
export const operations: Operations = {
  ...below("/client/v4/user/tokens", tokens),
  ...below(`${ACCOUNT}/tokens`, tokens),
  "GET /client/v4/accounts": {
    summary: "List the accounts that the token may use",
    query: [...paged, "direction", "name"],
  },
  "GET /client/v4/accounts/:account_id": { summary: "Read an account" },
  ...gatewayOperations,
  ...below(`${ACCOUNT}/browser-rendering`, { ...rendering, ...crawls }),
  ...below(`${ACCOUNT}/browser-run`, { ...rendering, ...crawls }),
  ...below(`${ACCOUNT}/ai-search`, search),
  ...below(`${ACCOUNT}/webhooks`, webhooks),
  "POST /webhooks/:provider": {
    summary: "Receive a webhook whose body names the entity",
    freeBody: "json",
    answer: "json",
    isPublic: true,
  },
  "POST /webhooks/:provider/:entity_id": {
    summary: "Receive a webhook for an entity",
    freeBody: "json",
    answer: "json",
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
    summary: "Make a ticket that a browser connects with",
    body: "Ticket",
    bodyOptional: true,
    example: { edit: false },
  },
  "GET /client/v4/deprecations": { summary: "List the deprecations, with who still uses them" },
  "GET /healthz": { summary: "Read whether the process answers", answer: "json", isPublic: true },
  "GET /readyz": { summary: "Read how every part is", answer: "json", isPublic: true },
  "GET /metrics": { summary: "Read the platform's metrics, for Prometheus", answer: "text" },
};
