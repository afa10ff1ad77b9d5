import type { Operations } from "./operation.ts";

const entityFilter = ["agent", "source", "cursor", "limit"];
const eventFilter = ["entity", "agent", "source", "type", "before", "limit"];

/** Endpoints, deliveries and figures: of an account, of one of its applications, and of the customer who that is. */
const own: Operations = {
  "GET /endpoints": {
    results: "WebhookEndpoint",
    summary: "List the endpoints that webhooks are sent to",
  },
  "POST /endpoints": {
    result: "WebhookEndpointWithSecret",
    summary: "Create an endpoint; its secret is shown once",
    body: "Endpoint",
    example: { url: "https://app.example.com/hooks", types: ["order.*"] },
    status: 201,
  },
  "GET /endpoints/:id": { result: "WebhookEndpoint", summary: "Read an endpoint" },
  "PATCH /endpoints/:id": {
    result: "WebhookEndpoint",
    summary: "Change an endpoint",
    body: "EndpointChange",
    example: { enabled: true },
  },
  "DELETE /endpoints/:id": { result: "IdOnly", summary: "Delete an endpoint" },
  "POST /endpoints/:id/test": {
    result: "WebhookSent",
    summary: "Send a test to an endpoint",
    status: 202,
  },
  "GET /stats/topics": { results: "WebhookTopic", summary: "Count attempts by type and endpoint" },
  "POST /endpoints/:id/rotate": {
    result: "WebhookEndpointWithSecret",
    summary: "Give an endpoint a new secret, shown once",
    body: "EndpointRotation",
    bodyOptional: true,
    example: { grace_seconds: 3600 },
  },
  "GET /deliveries": {
    results: "WebhookDelivery",
    summary: "List the deliveries",
    query: ["status", "endpoint_id", "message_id", "entity", "limit"],
  },
  "GET /deliveries/:id": {
    result: "WebhookDeliveryDetail",
    summary: "Read a delivery with its attempts",
  },
  "POST /deliveries/:id/replay": { result: "IdOnly", summary: "Deliver again", status: 202 },
  "POST /deliveries/replay": {
    result: "DeliveriesReplayed",
    summary: "Deliver many again",
    body: "DeliveryReplay",
    bodyOptional: true,
    example: { status: "dead" },
    status: 202,
  },
};

/** Webhooks that go out, of an account or of one of its applications. */
const outbound: Operations = {
  "POST /send": {
    result: "WebhookSent",
    summary: "Send a webhook to the endpoints that want its type",
    body: "WebhookMessage",
    example: { type: "order.paid", payload: { id: 7 } },
    status: 202,
  },
  ...own,
};

/** The routes of a customer, who has the token of a link. */
export const portal: Operations = {
  "GET ": {
    result: "WebhookPortal",
    summary: "Read the application that a link to the portal opens",
  },
  ...Object.fromEntries(
    Object.entries(own).map(([route, operation]) => [
      route,
      { ...operation, summary: `${operation.summary}, by the token of a link` },
    ]),
  ),
};

const ofApplications: Operations = Object.fromEntries(
  Object.entries({
    ...outbound,
    "GET /stats": { result: "WebhookStats", summary: "Count deliveries" },
  } satisfies Operations).map(([route, operation]) => [
    route.replace(" /", " /applications/:application_id/"),
    { ...operation, summary: `${operation.summary}, of an application` },
  ]),
);

const applications: Operations = {
  "GET /applications": {
    results: "WebhookApplication",
    summary: "List the applications: customers with endpoints of their own",
    query: ["cursor", "limit"],
  },
  "POST /applications": {
    result: "WebhookApplication",
    summary: "Create an application",
    body: "Application",
    example: { id: "acme", max_endpoints: 10 },
    status: 201,
  },
  "GET /applications/:application_id": {
    result: "WebhookApplication",
    summary: "Read an application",
  },
  "PATCH /applications/:application_id": {
    result: "WebhookApplication",
    summary: "Change an application",
    body: "ApplicationChange",
    example: { messages_per_second: 50 },
  },
  "POST /applications/:application_id/portal": {
    result: "WebhookPortalLink",
    summary: "Make a link with which a customer sees and changes the application",
    body: "PortalLink",
    bodyOptional: true,
    example: { expires_seconds: 3600 },
    status: 201,
  },
  "DELETE /applications/:application_id/portal": {
    result: "IdOnly",
    summary: "End all links to the portal of an application",
  },
  "DELETE /applications/:application_id": {
    result: "IdOnly",
    summary: "Delete an application with its endpoints and deliveries",
  },
};

/** Webhooks that come and go. */
export const webhooks: Operations = {
  "GET /sources": { results: "WebhookSource", summary: "List the sources of webhooks" },
  "POST /sources": {
    result: "WebhookSource",
    summary: "Create a source",
    body: "WebhookSourceCreate",
    example: { name: "shop", scheme: "generic", secret: "a secret of the sender" },
    status: 201,
  },
  "GET /sources/:name": { result: "WebhookSource", summary: "Read a source" },
  "PUT /sources/:name": {
    result: "WebhookSource",
    summary: "Replace the settings of a source; secrets that are left out stay",
    body: "WebhookSourceSettings",
    example: { scheme: "generic", respond: "queued" },
  },
  "POST /sources/:name/rotate": {
    result: "WebhookSource",
    summary: "Give a source a new secret",
    body: "WebhookSourceRotation",
    example: { secret: "the next secret of the sender", grace_seconds: 3600 },
  },
  "DELETE /sources/:name": { result: "NameOnly", summary: "Delete a source" },
  "GET /entities": {
    results: "WebhookEntity",
    summary: "List the entities that events came for, the newest first",
    query: entityFilter,
  },
  "GET /entities/state": {
    result: "AgentState",
    summary: "Read the state, schedules, waiting tasks and callables of an entity's agent",
    query: ["entity", "agent", "source"],
  },
  "GET /events": {
    results: "WebhookEvent",
    summary: "List the events of an entity",
    query: eventFilter,
  },
  "POST /events/:id/replay": {
    result: "QueuedJob",
    summary: "Give an event to its agent again",
    query: eventFilter,
    status: 202,
  },
  "GET /failures": {
    results: "WebhookFailure",
    summary: "List the events that agents could not handle yet",
    query: [...entityFilter, "entity"],
  },
  "GET /dead-letters": {
    results: "DeadLetter",
    summary: "List the events that were given up",
    query: [...entityFilter, "entity"],
  },
  "POST /dead-letters/:id/replay": {
    result: "QueuedJob",
    summary: "Give a dead letter to its agent again",
    query: eventFilter,
    status: 202,
  },
  "GET /replays": { results: "EntityReplayState", summary: "List the replays over many entities" },
  "POST /replays": {
    result: "EntityReplayState",
    summary: "Replay events or dead letters of many entities",
    body: "EntityReplay",
    example: { of: "dead-letters", source: "github" },
    status: 202,
  },
  "GET /replays/:id": { result: "EntityReplayState", summary: "Read a replay" },
  "POST /replays/:id/cancel": { result: "EntityReplayState", summary: "Cancel a replay" },
  "GET /stats": { result: "WebhookStats", summary: "Count deliveries and events" },
  ...outbound,
  ...applications,
  ...ofApplications,
};
