import { defineScheme, DIGEST, type Scheme } from "./scheme.ts";

/** The name of a scheme whose sender publishes its keys. */
export type PublishedKeyScheme =
  | "sns"
  | "paypal"
  | "paypal-sandbox"
  | "google-pubsub"
  | "plaid"
  | "plaid-sandbox"
  | "monday";

/** https://developer.paypal.com/api/rest/webhooks/rest/#link-messagesignature; the secret is the id of the webhook. */
function paypal(host: string): Scheme {
  return defineScheme({
    algorithm: "rsa-certificate",
    encoding: "base64",
    signature: ["header:paypal-transmission-sig"],
    content: "{header:paypal-transmission-id}|{timestamp}|{secret}|{crc32}",
    timestamp: { source: "header:paypal-transmission-time", unit: "iso", toleranceSeconds: null },
    certificate: {
      url: "header:paypal-cert-url",
      address: new RegExp(
        `^https://${host.replaceAll(".", "\\.")}/v1/notifications/certs/[\\w-]+$`,
      ),
      hashes: ["SHA-256"],
    },
    fields: {
      id: ["body:id"],
      type: ["body:event_type"],
      title: ["body:summary"],
    },
    entity: ["resource.supplementary_data.related_ids.order_id", "resource.payee.merchant_id"],
    entityDefault: "default",
  });
}

/** https://plaid.com/docs/api/webhooks/webhook-verification/; the secret is `client_id:secret`, to ask for keys with. */
function plaid(host: string): Scheme {
  return defineScheme({
    algorithm: "jwt",
    signature: ["header:plaid-verification"],
    jwt: {
      algorithms: ["ES256"],
      keys: { lookup: `https://${host}/webhook_verification_key/get` },
      bodyHash: "request_body_sha256",
      maxAgeSeconds: 300,
    },
    fields: { id: [DIGEST], type: ["body:webhook_type"], action: ["body:webhook_code"] },
    entity: "item_id",
    entityDefault: "default",
  });
}

/** Schemes whose senders publish their keys: the secret says which account of the sender may send. */
export const publishedKeySchemes: Readonly<Record<PublishedKeyScheme, Scheme>> = {
  // The secret is the ARN of the topic. https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
  sns: defineScheme({
    algorithm: "rsa-certificate",
    encoding: "base64",
    signature: ["body:Signature"],
    content: "{fields:Message,MessageId,Subject,SubscribeURL,Timestamp,Token,TopicArn,Type}",
    certificate: {
      url: "body:SigningCertURL",
      address: /^https:\/\/sns\.[a-z0-9-]{3,32}\.amazonaws\.com(?:\.cn)?\/[\w-]+\.pem$/,
      // Topics have `SignatureVersion` 1 (SHA-1) unless it is set to 2.
      hashes: ["SHA-256", "SHA-1"],
      pin: "body:TopicArn",
    },
    handshakes: [
      {
        method: "POST",
        when: { "body:Type": "SubscriptionConfirmation" },
        confirm: {
          url: "body:SubscribeURL",
          host: /^sns\.[a-z0-9-]{3,32}\.amazonaws\.com(?:\.cn)?$/,
        },
        answer: {},
      },
    ],
    fields: { id: ["body:MessageId"], type: ["body:Type"], title: ["body:Subject"] },
    entity: "TopicArn",
  }),
  paypal: paypal("api.paypal.com"),
  "paypal-sandbox": paypal("api.sandbox.paypal.com"),
  // The secret is the e-mail address of the service account. https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
  "google-pubsub": defineScheme({
    algorithm: "jwt",
    signature: ["header:authorization"],
    format: { kind: "single", prefix: "Bearer " },
    jwt: {
      algorithms: ["RS256"],
      keys: { jwks: "https://www.googleapis.com/oauth2/v3/certs" },
      issuer: "https://accounts.google.com",
      audience: true,
      pin: "email",
      claims: { email_verified: true },
    },
    fields: { id: ["body:message.messageId", "body:message.message_id"] },
    entity: "subscription",
  }),
  plaid: plaid("production.plaid.com"),
  "plaid-sandbox": plaid("sandbox.plaid.com"),
  // The secret is the signing secret of the app. https://developer.monday.com/apps/docs/authorization-header
  monday: defineScheme({
    algorithm: "jwt",
    signature: ["header:authorization"],
    jwt: { algorithms: ["HS256"], keys: "secret", audience: true },
    handshakes: [
      {
        method: "POST",
        signed: false,
        when: { "body:challenge": true },
        answer: { json: { challenge: "body:challenge" } },
      },
    ],
    fields: {
      id: ["body:event.triggerUuid"],
      type: ["body:event.type"],
      title: ["body:event.pulseName"],
    },
    entity: "event.boardId",
    entityDefault: "default",
  }),
};
