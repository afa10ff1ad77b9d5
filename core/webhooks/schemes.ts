import { githubFields, usualFields } from "./event-fields.ts";
import { defineScheme, type Scheme } from "./scheme.ts";

const standard: Scheme = defineScheme({
  encoding: "base64",
  signature: ["header:webhook-signature"],
  format: { kind: "versions" },
  content: "{id}.{timestamp}.{body}",
  timestamp: { source: "header:webhook-timestamp", unit: "s", toleranceSeconds: 300 },
  signedId: "header:webhook-id",
  secretForm: "whsec",
  fields: { ...usualFields, id: ["header:webhook-id"] },
});

const generic: Scheme = defineScheme({
  signature: ["header:x-signature", "header:x-hub-signature-256"],
  format: { kind: "single", prefix: "sha256=" },
  fields: usualFields,
});

/** The name of a built-in scheme. */
export type SchemeName =
  | "generic"
  | "github"
  | "stripe"
  | "slack"
  | "shopify"
  | "standard-webhooks"
  | "svix"
  | "twilio"
  | "linear"
  | "discord"
  | "sendgrid"
  | "square"
  | "zoom"
  | "paddle"
  | "hubspot"
  | "mailgun"
  | "intercom"
  | "bitbucket"
  | "gitlab"
  | "gitlab-signed"
  | "pagerduty"
  | "typeform"
  | "dropbox";

/**
 * Every built-in scheme, by name. Sources: the providers' documents and libraries listed in the reference,
 * section 1.7. An algorithm is pinned here, never read from a header.
 */
export const schemes: Readonly<Record<SchemeName, Scheme>> = {
  generic,
  github: defineScheme({
    signature: ["header:x-hub-signature-256"],
    format: { kind: "single", prefix: "sha256=" },
    fields: githubFields,
    keptHeaders: ["x-github-hook-id", "x-github-hook-installation-target-id"],
    entity: "repository.full_name",
  }),
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
    handshake: "slack-challenge",
    fields: {
      id: ["body:event_id", "body:trigger_id"],
      type: ["body:event.type", "body:command", "body:type"],
      action: ["body:event.subtype"],
      title: ["body:event.text", "body:text"],
      actor: ["body:event.user", "body:user_name", "body:user.id"],
    },
    entity: "team_id",
  }),
  shopify: defineScheme({
    encoding: "base64",
    signature: ["header:x-shopify-hmac-sha256"],
    fields: {
      id: ["header:x-shopify-event-id", "header:x-shopify-webhook-id"],
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
    fields: {
      id: ["header:i-twilio-idempotency-token", "body:MessageSid", "body:CallSid"],
      type: ["body:EventType", "body:MessageStatus", "body:CallStatus", "body:SmsStatus"],
      title: ["body:Body"],
      actor: ["body:From"],
    },
    entity: "AccountSid",
  }),
  linear: defineScheme({
    signature: ["header:linear-signature"],
    timestamp: { source: "body:webhookTimestamp", unit: "ms", toleranceSeconds: 60 },
    fields: {
      id: ["header:linear-delivery"],
      type: ["body:type"],
      action: ["body:action"],
      title: ["body:data.title", "body:data.name"],
      description: ["body:data.description", "body:data.body"],
      url: ["body:url"],
      actor: ["body:actor.name"],
    },
    entity: "organizationId",
  }),
  discord: defineScheme({
    algorithm: "ed25519",
    signature: ["header:x-signature-ed25519"],
    content: "{timestamp}{body}",
    timestamp: { source: "header:x-signature-timestamp", unit: "s", toleranceSeconds: null },
    secretForm: "hex",
    handshake: "discord-ping",
    fields: {
      id: ["body:id"],
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
    fields: { id: ["body:0.sg_event_id"], type: ["body:0.event"], actor: ["body:0.email"] },
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
    handshake: "zoom-validation",
    fields: {
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
    fields: { id: ["body:0.eventId"], type: ["body:0.subscriptionType"] },
    entity: "0.portalId",
  }),
  // The payload itself is unsigned: only the timestamp and the token are (reference, section 1.7).
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
    fields: { id: ["body:id"], type: ["body:topic"] },
    entity: "app_id",
  }),
  bitbucket: defineScheme({
    signature: ["header:x-hub-signature"],
    format: { kind: "single", prefix: "sha256=" },
    fields: {
      id: ["header:x-request-id"],
      type: ["header:x-event-key"],
      title: ["body:pullrequest.title", "body:issue.title"],
      url: ["body:pullrequest.links.html.href", "body:repository.links.html.href"],
      actor: ["body:actor.nickname", "body:actor.display_name"],
    },
    entity: "repository.full_name",
  }),
  gitlab: defineScheme({
    algorithm: "token",
    signature: ["header:x-gitlab-token"],
    fields: {
      id: ["header:idempotency-key", "header:x-gitlab-event-uuid"],
      type: ["header:x-gitlab-event"],
      action: ["body:object_attributes.action"],
      title: ["body:object_attributes.title"],
      url: ["body:object_attributes.url", "body:project.web_url"],
      actor: ["body:user.username", "body:user_username"],
    },
    entity: "project.path_with_namespace",
  }),
  "gitlab-signed": defineScheme({
    ...standard,
    fields: {
      id: ["header:webhook-id"],
      type: ["header:x-gitlab-event"],
      actor: ["body:user.username"],
    },
    entity: "project.path_with_namespace",
  }),
  pagerduty: defineScheme({
    signature: ["header:x-pagerduty-signature"],
    format: { kind: "pairs", separator: ",", key: "v1" },
    fields: {
      id: ["body:event.id"],
      type: ["body:event.event_type"],
      title: ["body:event.data.title"],
      url: ["body:event.data.html_url"],
      actor: ["body:event.agent.summary"],
    },
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
    handshake: "get-challenge",
  }),
};

/** The built-in scheme of that name (own names only, so `constructor` is none); undefined when there is none. */
export function schemeNamed(name: string): Scheme | undefined {
  return Object.hasOwn(schemes, name) ? schemes[name as SchemeName] : undefined;
}
