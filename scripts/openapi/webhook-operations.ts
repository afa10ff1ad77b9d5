import type { Operations } from "./operation.ts";

const entityFilter = ["agent", "source", "cursor", "limit"];
const eventFilter = ["entity", "agent", "source", "type", "before", "limit"];

/** Webhooks that come and go. */
export const webhooks: Operations = {
  "GET /sources": { results: "WebhookSource", summary: "List the configured senders" },
  "GET /entities": {
    results: "WebhookEntity",
    summary: "List the entities that events came for, the newest first",
    query: entityFilter,
  },
  "GET /entities/state": {
    result: "AgentState",
    summary: "Read the state and the schedules of an entity's agent",
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
  "POST /endpoints/:id/rotate": {
    result: "WebhookEndpointWithSecret",
    summary: "Give an endpoint a new secret, shown once",
    body: "EndpointRotation",
    bodyOptional: true,
    example: { grace_seconds: 3600 },
  },
  "POST /send": {
    result: "WebhookSent",
    summary: "Send a webhook to the endpoints that want its type",
    body: "WebhookMessage",
    example: { type: "order.paid", payload: { id: 7 } },
    status: 202,
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
