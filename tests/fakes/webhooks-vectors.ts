import type { SchemeName } from "../../core/webhooks/signing/schemes.ts";

/** A signed request of a provider. */
export interface Vector {
  readonly scheme: SchemeName;
  readonly secret: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly url?: string;
}

/** When the vectors were signed, in Unix ms. */
export const VECTOR_TIME = 1_700_000_000_000;

const body = '{"id":"evt_1","text":"Grüße ✓"}';
const whsec = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const own = "a-secret-for-vectors";
const hex = "3035ded0a864306859a0c7f6b599712677ee2cb1d51e40d9d6b356b5cbb42224";
const base64 = "MDXe0KhkMGhZoMf2tZlxJnfuLLHVHkDZ1rNWtcu0IiQ=";
const form = { "content-type": "application/x-www-form-urlencoded" };

/**
 * Signatures that are not of this project's making. Those with an SDK's name were signed, or where it can only
 * verify were accepted, by it: twilio 6.2.0 (`getExpectedTwilioSignature`, `validateRequestWithBody`), svix 2.5.0
 * (`Webhook.sign`), discord-interactions 4.4.0 (`verifyKey`), @sendgrid/eventwebhook 8.0.0 (`verifySignature`),
 * square 46.0.0 (`WebhooksHelper.verifySignature`), @paddle/paddle-node-sdk 3.10.0 (`isSignatureValid`),
 * @linear/sdk 98.0.0 (`LinearWebhookClient.verify`), @hubspot/api-client 14.0.1 (the text of `getSignature`).
 * The others follow the providers' documents, by `createHmac` of Node 24.
 */
export const vectors: Readonly<Record<string, Vector>> = {
  "Twilio's SDK, a form with a repeated name": {
    scheme: "twilio",
    secret: "12345",
    url: "https://example.com/webhooks/x",
    body: "To=%2B15005550001&Media=b&Media=a&Media=b&Body=Gr%C3%BC%C3%9Fe+%E2%9C%93&From=%2B15005550006",
    headers: { ...form, "x-twilio-signature": "nmbu+IYDgHsHZTR30iKMEwxf1Qc=" },
  },
  "Twilio's SDK, JSON": {
    scheme: "twilio",
    secret: "12345",
    url: "https://example.com/webhooks/x?bodySHA256=a03ae842269e3a7dc0a5d15da0c7a149c920773ce50f146f9c70fbfab40d0f55",
    body,
    headers: { "x-twilio-signature": "n+4mtGzQ1/nTjDcWGdN5ZJgSNfE=" },
  },
  "Svix's SDK": {
    scheme: "svix",
    secret: whsec,
    body,
    headers: {
      "svix-id": "msg_1",
      "svix-timestamp": "1700000000",
      "svix-signature": "v1,JaSlj/bhFmMmx8dQizsjvSDkB7WYGDOeq741C+zjO2w=",
    },
  },
  "Svix's SDK, as GitLab's signing token": {
    scheme: "gitlab-signed",
    secret: whsec,
    body,
    headers: {
      "webhook-id": "gl_1",
      "webhook-timestamp": "1700000000",
      "webhook-signature": "v1,ncap3E97/AZw0fmkstVNFI6pfGr9J+WH8gfXwXhoRmk=",
    },
  },
  "Discord's SDK": {
    scheme: "discord",
    secret: "8eef724e2aaab4553d2f9a34b3a9cddc360378da67fdce8e583303f60b0adac8",
    body,
    headers: {
      "x-signature-timestamp": "1700000000",
      "x-signature-ed25519":
        "c8d97028437bc052e72dc804fd180b00590da1c5539cc7a47cf2eeef5603b6ba96897b4b4dbb14713b1d79798ece9883b2929f6be3a7e6c7b78fdd901a641101",
    },
  },
  "SendGrid's SDK": {
    scheme: "sendgrid",
    secret:
      "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEQJIBpk9MHpYTzTUsBiQJOVgEcTd0F5BVRL1jiowpqrg0J60/O4+hCBtGgvauxli60PjnYpPTICWILv9sIpxDKA==",
    body,
    headers: {
      "x-twilio-email-event-webhook-timestamp": "1700000000",
      "x-twilio-email-event-webhook-signature":
        "MEUCIQDFhvercJRo0vOacWpe3PwCYxGMOkKNkC4ByDPYQfAL/AIgaxRWprVPZaLsZLJNWkWMU4xullrY53bBkkB2EYk+Veg=",
    },
  },
  "Square's SDK": {
    scheme: "square",
    secret: "square-signature-key",
    url: "https://example.com/webhooks/x",
    body,
    headers: {
      "x-square-hmacsha256-signature": "10o5O3addLq0Wp3ccDKxd7BdF+7jXIQ4lU3tl/EGq5A=",
    },
  },
  "Paddle's SDK": {
    scheme: "paddle",
    secret: "pdl_ntfset_secret",
    body,
    headers: {
      "paddle-signature":
        "ts=1700000000;h1=184ddae290ce39760a24dce82c612d3a526b785881af943f0a5aadebbbcf6564",
    },
  },
  "HubSpot's SDK": {
    scheme: "hubspot",
    secret: "hubspot-client-secret",
    url: "https://example.com/webhooks/x",
    body,
    headers: {
      "x-hubspot-request-timestamp": "1700000000000",
      "x-hubspot-signature-v3": "3TEeDK+JpS09SRwRrwkUIjgRm27BPQPFsukDHfRrKEI=",
    },
  },
  "Linear's SDK": {
    scheme: "linear",
    secret: "linear-signing-secret",
    body: '{"action":"create","type":"Issue","webhookTimestamp":1700000000000}',
    headers: {
      "linear-signature": "c9c0887f8bbfa6b00568760427566e2560a8c811d396325b6f94e909c51ed4ab",
    },
  },
  Shopify: {
    scheme: "shopify",
    secret: "shopify-secret",
    body,
    headers: { "x-shopify-hmac-sha256": "mFkjVyurtstB7PvSsuk9f5P155V5OLivFeDF5MTfW68=" },
  },
  Zoom: {
    scheme: "zoom",
    secret: "zoom-secret-token",
    body,
    headers: {
      "x-zm-request-timestamp": "1700000000",
      "x-zm-signature": "v0=00d16d2ab03d2b523804ebba3927655139d54a02a54007cb7893d59666c64b8a",
    },
  },
  Mailgun: {
    scheme: "mailgun",
    secret: "mailgun-signing-key",
    body: '{"signature":{"timestamp":"1700000000","token":"tok-1","signature":"109403c062e6f337b19ff45e989c0547e1dc2496bedc951a76c3af50b6647c67"},"event-data":{"event":"delivered"}}',
    headers: {},
  },
  Intercom: {
    scheme: "intercom",
    secret: "intercom-secret",
    body,
    headers: { "x-hub-signature": "sha1=693c0e6c30ff89ea2a38cc4f217993f89a21d638" },
  },
  Bitbucket: {
    scheme: "bitbucket",
    secret: "bitbucket-secret",
    body,
    headers: {
      "x-hub-signature": "sha256=e68c5cd52686be5fb004a3993c66e2c69cae16b917050d80b59481ef71e3f067",
    },
  },
  "GitLab's token": {
    scheme: "gitlab",
    secret: "gitlab-token",
    body,
    headers: { "x-gitlab-token": "gitlab-token" },
  },
  PagerDuty: {
    scheme: "pagerduty",
    secret: "pagerduty-secret",
    body,
    headers: {
      "x-pagerduty-signature":
        "v1=0000,v1=5ddb05566b8adbd94176e85b1a95d0bd785b2459c4d9ccee34d060afc70d21e8",
    },
  },
  Typeform: {
    scheme: "typeform",
    secret: "typeform-secret",
    body,
    headers: { "typeform-signature": "sha256=XWgePHyUNs3BrXR8HS+sMILNXh2Z0gP7jiD5xqY5SnE=" },
  },
  Dropbox: {
    scheme: "dropbox",
    secret: "dropbox-app-secret",
    body,
    headers: {
      "x-dropbox-signature": "c0d6b5f7cdf911e85fcb68b776babae98a29df703c254f34693c07067afe74d3",
    },
  },
  Meta: {
    scheme: "meta",
    secret: own,
    body,
    headers: { "x-hub-signature-256": `sha256=${hex}` },
  },
  Notion: {
    scheme: "notion",
    secret: own,
    body,
    headers: { "x-notion-signature": `sha256=${hex}` },
  },
  Asana: { scheme: "asana", secret: own, body, headers: { "x-hook-signature": hex } },
  X: {
    scheme: "x",
    secret: own,
    body,
    headers: { "x-twitter-webhooks-signature": `sha256=${base64}` },
  },
  DocuSign: {
    scheme: "docusign",
    secret: own,
    body,
    headers: { "x-docusign-signature-1": base64 },
  },
  Zendesk: {
    scheme: "zendesk",
    secret: own,
    body,
    headers: {
      "x-zendesk-webhook-signature-timestamp": "2023-11-14T22:13:20Z",
      "x-zendesk-webhook-signature": "pP1aDwaP93KIo4y0W/JFDC3J4UqnXLufZyA4IimosjY=",
    },
  },
  Twitch: {
    scheme: "twitch",
    secret: own,
    body,
    headers: {
      "twitch-eventsub-message-id": "msg-1",
      "twitch-eventsub-message-timestamp": "2023-11-14T22:13:20.000000789Z",
      "twitch-eventsub-message-signature":
        "sha256=902032f1ed6c274898056952148326b6f3fdff179523d000434204922eec84fb",
    },
  },
  Calendly: {
    scheme: "calendly",
    secret: own,
    body,
    headers: {
      "calendly-webhook-signature":
        "t=1700000000,v1=5bc495341d0fd767bf530d6e644183a7e85148d08c020539e8b53a3385259c20",
    },
  },
  Trello: {
    scheme: "trello",
    secret: own,
    body,
    headers: { "x-trello-webhook": "k8Y+UHk9tEZO1byiUMPiKUieAcM=" },
  },
  "Telegram's token": {
    scheme: "telegram",
    secret: own,
    body,
    headers: { "x-telegram-bot-api-secret-token": own },
  },
  "Strava's token in the address": {
    scheme: "strava",
    secret: own,
    body,
    headers: {},
    url: `https://example.com/webhooks/x?token=${own}`,
  },
  "Event Grid's token in the address": {
    scheme: "event-grid",
    secret: own,
    body,
    headers: {},
    url: `https://example.com/webhooks/x?token=${own}`,
  },
  "CloudEvents' token": {
    scheme: "cloudevents",
    secret: own,
    body,
    headers: { authorization: `Bearer ${own}` },
  },
  "Microsoft Graph's state": {
    scheme: "microsoft-graph",
    secret: own,
    body: JSON.stringify({ value: [{ clientState: own }, { clientState: own }] }),
    headers: {},
  },
};
