import { usualFields } from "./event-fields.ts";
import { defineScheme, DIGEST, type Handshake, type Scheme } from "./scheme.ts";

/** The name of a scheme of a network, a calendar, a cloud or a business tool. */
export type TestingScheme =
  | "meta"
  | "strava"
  | "x"
  | "telegram"
  | "twitch"
  | "trello"
  | "asana"
  | "notion"
  | "microsoft-graph"
  | "cloudevents"
  | "event-grid"
  | "docusign"
  | "zendesk"
  | "calendly";

/** The subscription of WebSub, as Meta and Strava use it. */
const subscription: Handshake = {
  method: "GET",
  when: { "query:hub.mode": "subscribe" },
  token: "query:hub.verify_token",
  answer: { text: "query:hub.challenge" },
};

/** The chat of an update, or else the user whom it is about. */
const telegramEntities: readonly string[] = [
  ...[
    "message",
    "edited_message",
    "channel_post",
    "edited_channel_post",
    "business_message",
    "edited_business_message",
    "deleted_business_messages",
    "guest_message",
    "message_reaction",
    "message_reaction_count",
    "my_chat_member",
    "chat_member",
    "chat_join_request",
    "chat_boost",
    "removed_chat_boost",
    "stopped_message_generation",
    "callback_query.message",
  ].map((kind) => `${kind}.chat.id`),
  ...[
    "callback_query",
    "inline_query",
    "chosen_inline_result",
    "shipping_query",
    "pre_checkout_query",
    "purchased_paid_media",
  ].map((kind) => `${kind}.from.id`),
  ...["poll_answer", "business_connection", "managed_bot", "subscription"].map(
    (kind) => `${kind}.user.id`,
  ),
];

/** Schemes of networks, calendars and clouds that test their receiver first; and of further business tools. */
export const testingSchemes: Readonly<Record<TestingScheme, Scheme>> = {
  // WhatsApp, Messenger, Instagram, Threads and Facebook: https://developers.facebook.com/docs/graph-api/webhooks/getting-started
  meta: defineScheme({
    signature: ["header:x-hub-signature-256"],
    format: { kind: "single", prefix: "sha256=" },
    handshakes: [subscription],
    fields: {
      // Changes have no id of their own; a repeated notification is the same text.
      id: [DIGEST],
      type: ["body:entry.0.changes.0.field", "body:object"],
    },
    entity: "entry.0.id",
  }),
  // Strava signs nothing: the address of the subscription carries a token. https://developers.strava.com/docs/webhooks/
  strava: defineScheme({
    algorithm: "token",
    signature: ["query:token"],
    handshakes: [{ ...subscription, answer: { json: { "hub.challenge": "query:hub.challenge" } } }],
    fields: { id: [DIGEST], type: ["body:object_type"], action: ["body:aspect_type"] },
    entity: "owner_id",
  }),
  // https://docs.x.com/x-api/webhooks/quickstart
  x: defineScheme({
    encoding: "base64",
    signature: ["header:x-twitter-webhooks-signature"],
    format: { kind: "single", prefix: "sha256=" },
    handshakes: [
      {
        method: "GET",
        answer: {
          json: {
            response_token: { hmac: "query:crc_token", encoding: "base64", prefix: "sha256=" },
          },
        },
      },
    ],
    fields: { id: [DIGEST], type: ["body:data.event_type"] },
    entity: ["for_user_id", "data.filter.user_id"],
  }),
  // https://core.telegram.org/bots/api#setwebhook; kinds of updates: https://core.telegram.org/bots/api#update
  telegram: defineScheme({
    algorithm: "token",
    signature: ["header:x-telegram-bot-api-secret-token"],
    fields: {
      id: ["body:update_id"],
      title: ["body:message.text", "body:edited_message.text", "body:channel_post.text"],
      actor: ["body:message.from.username", "body:callback_query.from.username"],
    },
    entity: telegramEntities,
    // A poll is in no chat, and Telegram adds kinds of updates: one that is refused holds up the later ones.
    entityDefault: "default",
  }),
  // https://dev.twitch.tv/docs/eventsub/handling-webhook-events
  twitch: defineScheme({
    signature: ["header:twitch-eventsub-message-signature"],
    format: { kind: "single", prefix: "sha256=" },
    content: "{id}{timestamp}{body}",
    timestamp: {
      source: "header:twitch-eventsub-message-timestamp",
      unit: "iso",
      toleranceSeconds: 600,
    },
    signedId: "header:twitch-eventsub-message-id",
    handshakes: [
      {
        method: "POST",
        when: { "header:twitch-eventsub-message-type": "webhook_callback_verification" },
        answer: { text: "body:challenge" },
      },
    ],
    fields: {
      id: ["header:twitch-eventsub-message-id"],
      type: ["body:subscription.type"],
      action: ["header:twitch-eventsub-message-type"],
      actor: ["body:event.user_login"],
    },
    entity: ["subscription.condition.broadcaster_user_id", "subscription.condition.user_id"],
  }),
  // https://developer.atlassian.com/cloud/trello/guides/rest-api/webhooks/
  trello: defineScheme({
    algorithm: "hmac-sha-1",
    encoding: "base64",
    signature: ["header:x-trello-webhook"],
    content: "{body}{url}",
    handshakes: [{ method: "HEAD", answer: {} }],
    fields: {
      id: ["body:action.id"],
      type: ["body:action.type"],
      title: ["body:action.data.card.name"],
      url: ["body:model.shortUrl"],
      actor: ["body:action.memberCreator.username"],
    },
    entity: "model.id",
  }),
  // https://developers.asana.com/docs/webhooks-guide
  asana: defineScheme({
    signature: ["header:x-hook-signature"],
    handshakes: [
      {
        method: "POST",
        signed: false,
        when: { "header:x-hook-secret": true },
        answer: { headers: { "x-hook-secret": "header:x-hook-secret" } },
      },
      // The heartbeat, every eight hours: a list of no events.
      { method: "POST", when: { "body:events": [] }, answer: {} },
    ],
    fields: {
      id: [DIGEST],
      type: ["body:events.0.resource.resource_type"],
      action: ["body:events.0.action"],
    },
  }),
  // https://developers.notion.com/reference/webhooks
  notion: defineScheme({
    signature: ["header:x-notion-signature"],
    format: { kind: "single", prefix: "sha256=" },
    handshakes: [
      { method: "POST", signed: false, when: { "body:verification_token": true }, answer: {} },
    ],
    fields: { id: ["body:id"], type: ["body:type"] },
    entity: "workspace_id",
  }),
  // The text `clientState` of each subscription. https://learn.microsoft.com/en-us/graph/change-notifications-delivery-webhooks
  "microsoft-graph": defineScheme({
    algorithm: "token",
    signature: ["body:value.*.clientState"],
    handshakes: [
      {
        method: "POST",
        signed: false,
        when: { "query:validationToken": true },
        answer: { text: "query:validationToken" },
      },
    ],
    fields: {
      id: ["body:id", DIGEST],
      type: ["body:lifecycleEvent", "body:changeType"],
      title: ["body:resource"],
    },
    entity: "subscriptionId",
    batch: "value",
  }),
  // https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/http-webhook.md
  cloudevents: defineScheme({
    algorithm: "token",
    signature: ["header:authorization", "query:access_token"],
    format: { kind: "single", prefix: "Bearer " },
    handshakes: [
      {
        method: "OPTIONS",
        answer: { headers: { "webhook-allowed-origin": "header:webhook-request-origin" } },
      },
    ],
    fields: {
      ...usualFields,
      id: [
        ["header:ce-source", "header:ce-id"],
        ["body:source", "body:id"],
      ],
      type: ["header:ce-type", "body:type"],
    },
    entity: "source",
    entityDefault: "default",
    batch: true,
  }),
  // Nothing is signed: the address carries a token. https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema
  "event-grid": defineScheme({
    algorithm: "token",
    signature: ["query:token"],
    handshakes: [
      {
        method: "POST",
        when: { "header:aeg-event-type": "SubscriptionValidation" },
        answer: { json: { validationResponse: "body:0.data.validationCode" } },
      },
      {
        method: "OPTIONS",
        answer: { headers: { "webhook-allowed-origin": "header:webhook-request-origin" } },
      },
    ],
    fields: { id: ["body:id"], type: ["body:eventType", "body:type"], title: ["body:subject"] },
    entity: ["topic", "source"],
    batch: true,
  }),
  // One header for each key of the account. https://developers.docusign.com/platform/webhooks/connect/hmac/
  docusign: defineScheme({
    encoding: "base64",
    signature: [1, 2, 3, 4, 5].map((n) => `header:x-docusign-signature-${n}` as const),
    everySignature: true,
    fields: {
      id: [["body:data.envelopeId", "body:event", "body:generatedDateTime"]],
      type: ["body:event"],
    },
    entity: "data.accountId",
  }),
  // https://developer.zendesk.com/documentation/webhooks/verifying/
  zendesk: defineScheme({
    encoding: "base64",
    signature: ["header:x-zendesk-webhook-signature"],
    content: "{timestamp}{body}",
    timestamp: {
      source: "header:x-zendesk-webhook-signature-timestamp",
      unit: "iso",
      toleranceSeconds: 300,
    },
    fields: { ...usualFields, id: ["header:x-zendesk-webhook-invocation-id", "body:id"] },
    entity: "account_id",
    entityDefault: "default",
  }),
  // https://developer.calendly.com/api-docs/overview/webhooks/webhook-signatures
  calendly: defineScheme({
    signature: ["header:calendly-webhook-signature"],
    format: { kind: "pairs", separator: ",", key: "v1" },
    content: "{timestamp}.{body}",
    timestamp: { source: "pair:t", unit: "s", toleranceSeconds: 300 },
    fields: {
      id: [DIGEST],
      type: ["body:event"],
      title: ["body:payload.name"],
      actor: ["body:payload.email"],
    },
    entity: "created_by",
  }),
};
