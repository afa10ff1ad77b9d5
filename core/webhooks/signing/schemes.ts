import { type DevelopmentScheme, developmentSchemes } from "./development-schemes.ts";
import { usualFields } from "./event-fields.ts";
import { defineScheme, DIGEST, type Scheme } from "./scheme.ts";
import { standard } from "./standard-scheme.ts";
import { type PublishedKeyScheme, publishedKeySchemes } from "./published-key-schemes.ts";
import { type TestingScheme, testingSchemes } from "./testing-schemes.ts";

const generic: Scheme = defineScheme({
  signature: ["header:x-signature", "header:x-hub-signature-256"],
  format: { kind: "single", prefix: "sha256=" },
  fields: usualFields,
});

/** The name of a built-in scheme. */
export type SchemeName =
  | DevelopmentScheme
  | PublishedKeyScheme
  | TestingScheme
  | "generic"
  | "stripe"
  | "slack"
  | "shopify"
  | "standard-webhooks"
  | "svix"
  | "twilio"
  | "discord"
  | "sendgrid"
  | "square"
  | "zoom"
  | "paddle"
  | "hubspot"
  | "mailgun"
  | "intercom"
  | "typeform"
  | "dropbox";

/**
 * Every built-in scheme, by name. Where each event's id comes from, and the document that says so, is in
 * `docs/webhook-schemes.md`. An algorithm is pinned here, never read from a header.
 *
 * @example
 * ```ts
 * import { schemes } from "causey/webhooks";
 *
 * schemes.github.algorithm; // → "hmac-sha-256"
 * ```
 */
export const schemes: Readonly<Record<SchemeName, Scheme>> = {
  generic,
  ...developmentSchemes,
  ...testingSchemes,
  ...publishedKeySchemes,
  stripe: defineScheme({
    signature: ["header:stripe-signature"],
    format: { kind: "pairs", separator: ",", key: "v1" },
    content: "{timestamp}.{body}",
    timestamp: { source: "pair:t", unit: "s", toleranceSeconds: 300 },
    fields: {
      id: ["body:id"],
      type: ["body:type"],
      title: ["body:data.object.description", "body:data.object.name"],
      url: ["body:data.object.hosted_invoice_url", "body:data.object.url"],
      actor: ["body:data.object.customer"],
    },
    entity: "account",
    entityDefault: "default",
  }),
  slack: defineScheme({
    signature: ["header:x-slack-signature"],
    format: { kind: "single", prefix: "v0=" },
    content: "v0:{timestamp}:{body}",
    timestamp: { source: "header:x-slack-request-timestamp", unit: "s", toleranceSeconds: 300 },
    handshakes: [
      {
        method: "POST",
        when: { "body:type": "url_verification" },
        answer: { json: { challenge: "body:challenge" } },
      },
      // Slack tries the certificate of a command's address: https://docs.slack.dev/interactivity/implementing-slash-commands/
      { method: "POST", when: { "body:ssl_check": "1" }, answer: {} },
      { method: "GET", when: { "query:ssl_check": "1" }, answer: {} },
    ],
    // Commands and interactivity: a dialog stays open until a `view_submission` has an empty 200, a command shows its answer:
    // https://docs.slack.dev/interactivity/handling-user-interaction/#acknowledgment_response
    formAnswer: { status: 200, type: null, body: "" },
    fields: {
      id: ["body:event_id", "body:trigger_id"],
      type: ["body:event.type", "body:command", "body:type"],
      action: ["body:event.subtype"],
      title: ["body:event.text", "body:text"],
      actor: ["body:event.user", "body:user_name", "body:user.id"],
    },
    // Interactivity has `team.id`; an app that a whole organisation installed gets `team: null` there.
    entity: ["team_id", "team.id", "enterprise_id", "enterprise.id"],
  }),
  shopify: defineScheme({
    encoding: "base64",
    signature: ["header:x-shopify-hmac-sha256"],
    fields: {
      // One event id is shared by the webhooks of several topics.
      id: [["header:x-shopify-event-id", "header:x-shopify-topic"], "header:x-shopify-webhook-id"],
      type: ["header:x-shopify-topic"],
      title: ["body:title", "body:name"],
      actor: ["body:email"],
    },
    keptHeaders: ["x-shopify-shop-domain"],
  }),
  "standard-webhooks": standard,
  svix: defineScheme({
    ...standard,
    signature: ["header:svix-signature", "header:webhook-signature"],
    timestamp: { source: "header:svix-timestamp", unit: "s", toleranceSeconds: 300 },
    signedId: "header:svix-id",
    fields: { ...usualFields, id: ["header:svix-id"] },
  }),
  twilio: defineScheme({
    algorithm: "hmac-sha-1",
    encoding: "base64",
    signature: ["header:x-twilio-signature"],
    content: "{url}{form}",
    // A number may be set to call by GET: then the parameters are in the signed address.
    methods: ["GET"],
    // TwiML that does nothing; JSON is an error: https://www.twilio.com/docs/api/errors/12300
    formAnswer: { status: 200, type: "text/xml", body: "<Response/>" },
    fields: {
      // Signed values come first. A call's own requests (not its status updates) have only the header's id.
      id: [
        ["body:MessageSid", "body:MessageStatus"],
        ["body:MessageSid", "body:SmsStatus"],
        ["body:ConferenceSid", "body:SequenceNumber"],
        ["body:CallSid", "body:CallStatus", "body:SequenceNumber"],
        ["body:RecordingSid", "body:RecordingStatus"],
        "header:i-twilio-idempotency-token",
        "body:id",
      ],
      type: [
        "body:EventType",
        "body:StatusCallbackEvent",
        "body:MessageStatus",
        "body:CallStatus",
        "body:SmsStatus",
        "body:type",
      ],
      title: ["body:Body"],
      actor: ["body:From"],
    },
    entity: ["AccountSid", "data.accountSid", "data.AccountSid"],
    // Event Streams send lists of CloudEvents.
    batch: true,
  }),
  discord: defineScheme({
    algorithm: "ed25519",
    signature: ["header:x-signature-ed25519"],
    content: "{timestamp}{body}",
    timestamp: { source: "header:x-signature-timestamp", unit: "s", toleranceSeconds: null },
    secretForm: "hex",
    handshakes: [
      { method: "POST", when: { "body:type": "1" }, answer: { json: { type: 1 } } },
      // https://docs.discord.com/developers/events/webhook-events#preparing-for-events
      {
        method: "POST",
        when: { "body:type": "0" },
        answer: { status: 204, headers: { "content-type": "header:content-type" } },
      },
    ],
    fields: {
      // Interactions have an id; webhook events have a time in microseconds instead.
      id: ["body:id", DIGEST],
      type: ["body:event.type", "body:type"],
      actor: ["body:user.username"],
    },
    entity: "application_id",
  }),
  sendgrid: defineScheme({
    algorithm: "ecdsa-p256",
    encoding: "base64",
    signature: ["header:x-twilio-email-event-webhook-signature"],
    content: "{timestamp}{body}",
    timestamp: {
      source: "header:x-twilio-email-event-webhook-timestamp",
      unit: "s",
      toleranceSeconds: null,
    },
    secretForm: "spki",
    fields: {
      id: ["body:sg_event_id", DIGEST],
      type: ["body:event"],
      url: ["body:url"],
      actor: ["body:email"],
    },
    batch: true,
  }),
  square: defineScheme({
    encoding: "base64",
    signature: ["header:x-square-hmacsha256-signature"],
    content: "{url}{body}",
    fields: { id: ["body:event_id"], type: ["body:type"] },
    entity: "merchant_id",
  }),
  zoom: defineScheme({
    signature: ["header:x-zm-signature"],
    format: { kind: "single", prefix: "v0=" },
    content: "v0:{timestamp}:{body}",
    timestamp: { source: "header:x-zm-request-timestamp", unit: "s", toleranceSeconds: 300 },
    handshakes: [
      {
        method: "POST",
        when: { "body:event": "endpoint.url_validation" },
        answer: {
          json: {
            plainToken: "body:payload.plainToken",
            encryptedToken: { hmac: "body:payload.plainToken", encoding: "hex" },
          },
        },
      },
    ],
    fields: {
      // Zoom sends no id, but a time in milliseconds (`event_ts`).
      id: [DIGEST],
      type: ["body:event"],
      title: ["body:payload.object.topic"],
      actor: ["body:payload.operator"],
    },
    entity: "payload.account_id",
  }),
  paddle: defineScheme({
    signature: ["header:paddle-signature"],
    format: { kind: "pairs", separator: ";", key: "h1" },
    content: "{timestamp}:{body}",
    // The SDK allows 5 s, which a slow link exceeds; the option `toleranceSeconds` narrows it.
    timestamp: { source: "pair:ts", unit: "s", toleranceSeconds: 300 },
    fields: { id: ["body:event_id"], type: ["body:event_type"], actor: ["body:data.customer_id"] },
  }),
  hubspot: defineScheme({
    encoding: "base64",
    signature: ["header:x-hubspot-signature-v3"],
    content: "{method}{decodedUrl}{body}{timestamp}",
    timestamp: { source: "header:x-hubspot-request-timestamp", unit: "ms", toleranceSeconds: 300 },
    fields: {
      // An `eventId` alone may occur twice, and `attemptNumber` differs between attempts, so the whole body is not a key.
      id: [
        [
          "body:eventId",
          "body:subscriptionId",
          "body:occurredAt",
          "body:fromObjectId",
          "body:toObjectId",
        ],
        ["body:eventId", "body:subscriptionId", "body:occurredAt", "body:objectId"],
        ["body:eventId", "body:subscriptionId", "body:occurredAt"],
      ],
      type: ["body:subscriptionType"],
      title: ["body:propertyName"],
      actor: ["body:sourceId"],
    },
    entity: "portalId",
    batch: true,
  }),
  // The payload itself is unsigned: only the timestamp and the token are. So the token is the id, and not the event's.
  mailgun: defineScheme({
    signature: ["body:signature.signature"],
    content: "{timestamp}{body:signature.token}",
    timestamp: { source: "body:signature.timestamp", unit: "s", toleranceSeconds: null },
    fields: {
      id: ["body:signature.token"],
      type: ["body:event-data.event"],
      title: ["body:event-data.message.headers.subject"],
      actor: ["body:event-data.recipient"],
    },
  }),
  intercom: defineScheme({
    algorithm: "hmac-sha-1",
    signature: ["header:x-hub-signature"],
    format: { kind: "single", prefix: "sha1=" },
    // https://developers.intercom.com/docs/webhooks/setting-up-webhooks
    handshakes: [{ method: "HEAD", answer: {} }],
    fields: { id: ["body:id"], type: ["body:topic"] },
    entity: "app_id",
  }),
  typeform: defineScheme({
    encoding: "base64",
    signature: ["header:typeform-signature"],
    format: { kind: "single", prefix: "sha256=" },
    fields: {
      id: ["body:event_id"],
      type: ["body:event_type"],
      title: ["body:form_response.definition.title"],
    },
    entity: "form_response.form_id",
  }),
  dropbox: defineScheme({
    signature: ["header:x-dropbox-signature"],
    handshakes: [{ method: "GET", answer: { text: "query:challenge" } }],
  }),
};

/** The built-in scheme of that name (own properties only, so not `constructor`); undefined for an unknown name. */
export function schemeNamed(name: string): Scheme | undefined {
  return Object.hasOwn(schemes, name) ? schemes[name as SchemeName] : undefined;
}
