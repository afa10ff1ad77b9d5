import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startUpstream } from "./upstream.ts";

/** What the server under test is started with, and what runs beside it. */
export interface PreparedTarget {
  readonly configFile: string;
  readonly token: string;
  readonly accountId: string;
  readonly upstreamUrl: string;
  stop(): Promise<void>;
}

/** Secrets of the webhook sources below, one per scheme; tests sign with them. */
export const webhookSecrets = {
  generic: "generic-secret-0123456789",
  github: "github-secret-0123456789",
  stripe: "whsec_stripe_secret_0123456789",
  slack: "slack-signing-secret-0123456789",
  shopify: "shopify-secret-0123456789",
  standard: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  zoom: "zoom-secret-token-0123456789",
  dropbox: "dropbox-app-secret-0123456789",
  /** The public half of {@link discordPrivateKey}. */
  discord: "5de88d9b5fce57e101f5f9c2e2ad9cc5caa2b891672ee0ace801baa193e69bd2",
  mailgun: "mailgun-secret-0123456789",
  twilio: "twilio-auth-token-0123456789",
  meta: "meta-app-secret-0123456789",
  x: "x-consumer-secret-0123456789",
  twitch: "twitch-secret-0123456789",
  trello: "trello-secret-0123456789",
  asana: "asana-hook-secret-0123456789",
  notion: "notion-token-0123456789",
  linear: "linear-secret-0123456789",
  /** Of senders that repeat a token and sign nothing. */
  token: "token-of-an-address-0123456789",
  ownEntity: "the-secret-of-one-entity-0123456789",
} as const;

/** An Ed25519 key made for these tests: PKCS #8, base64. */
export const discordPrivateKey = "MC4CAQAwBQYDK2VwBCIEII4nGIh6APJValsOK+l8ztae4aJBUm54CWlT2Li4HtjA";

/** The text that Meta and Strava repeat when they test an address. */
export const verifyToken = "verify-token-0123456789";

/** The token that the gateway `guarded` takes. */
export const gatewayToken = "gateway-token-for-tests-0123456789";

/** Starts what the server under test calls (a model server) and writes its configuration. */
export async function prepareTarget(): Promise<PreparedTarget> {
  const upstream = await startUpstream();
  const folder = mkdtempSync(join(tmpdir(), "causey-config-"));
  const configFile = join(folder, "causey.json");
  const baseUrl = `${upstream.url}/v1`;
  const config = {
    gateway: {
      providers: {
        openai: { baseUrl },
        groq: { baseUrl, apiKey: "sk-configured-key" },
        anthropic: { baseUrl: upstream.url },
        mistral: { baseUrl },
        elevenlabs: { baseUrl: upstream.url, apiKey: "xi-configured-key" },
        cartesia: { baseUrl: upstream.url },
        deepgram: { baseUrl: upstream.url, apiKey: "deepgram-configured-key" },
        fal: { baseUrl: upstream.url },
        "google-ai-studio": { baseUrl: upstream.url },
        "workers-ai": { baseUrl: `${upstream.url}/ai` },
        // Nobody listens there.
        deepseek: { baseUrl: "http://127.0.0.1:9" },
      },
      checkers: {
        // They are played by the model server.
        words: {
          url: `${upstream.url}/guard`,
          headers: { "x-test-mode": "guard", "x-test-id": "guard-words" },
          timeoutMs: 60_000,
        },
        strict: {
          url: `${upstream.url}/guard`,
          headers: { "x-test-mode": "never" },
          timeoutMs: 100,
        },
        lenient: {
          url: `${upstream.url}/guard`,
          headers: { "x-test-mode": "never" },
          timeoutMs: 100,
          onFailure: "allow",
        },
      },
      router: {
        candidates: [
          // The cheapest one cannot be reached.
          { model: "deepseek/down", price: { input: 0.01, output: 0.01 } },
          { model: "groq/cheap", price: { input: 0.1, output: 0.1 }, lacks: ["images"] },
          { model: "anthropic/claude-x", price: { input: 1, output: 1 } },
        ],
      },
      gateways: {
        open: { authentication: false, storedKeysForAnonymous: true },
        strangers: { authentication: false },
        guarded: {
          authentication: true,
          tokens: [gatewayToken],
          models: {
            "with-spare": {
              targets: [{ model: "deepseek/down" }, { model: "echo/echo-demo", weight: 0 }],
            },
          },
        },
      },
    },
    rendering: { chatModel: { baseUrl, model: "finds-data" } },
    search: { bucket: { endpoint: upstream.url } },
    webhooks: {
      sources: {
        generic: {
          scheme: "generic",
          secret: webhookSecrets.generic,
          entity: { from: "payload", path: "entity" },
          entitySecrets: { "http-own-secret": webhookSecrets.ownEntity },
        },
        zoom: { scheme: "zoom", secret: webhookSecrets.zoom },
        dropbox: { scheme: "dropbox", secret: webhookSecrets.dropbox },
        discord: { scheme: "discord", secret: webhookSecrets.discord },
        twilio: { scheme: "twilio", secret: webhookSecrets.twilio },
        "twilio-fixed": {
          scheme: "twilio",
          secret: webhookSecrets.twilio,
          answer: { type: "text/xml", body: "<Response><Reject/></Response>" },
        },
        meta: { scheme: "meta", secret: webhookSecrets.meta, verifyToken },
        strava: { scheme: "strava", secret: webhookSecrets.token, verifyToken },
        x: { scheme: "x", secret: webhookSecrets.x },
        graph: { scheme: "microsoft-graph", secret: webhookSecrets.token },
        cloudevents: { scheme: "cloudevents", secret: webhookSecrets.token },
        "event-grid": { scheme: "event-grid", secret: webhookSecrets.token },
        twitch: { scheme: "twitch", secret: webhookSecrets.twitch },
        intercom: { scheme: "intercom", secret: webhookSecrets.token },
        trello: { scheme: "trello", secret: webhookSecrets.trello },
        asana: { scheme: "asana", secret: webhookSecrets.asana, entity: { from: "path" } },
        notion: { scheme: "notion", secret: webhookSecrets.notion },
        linear: { scheme: "linear", secret: webhookSecrets.linear },
        mailgun: { scheme: "mailgun", secret: webhookSecrets.mailgun },
        github: { scheme: "github", secret: webhookSecrets.github },
        stripe: { scheme: "stripe", secret: webhookSecrets.stripe, entity: { from: "path" } },
        slack: { scheme: "slack", secret: webhookSecrets.slack },
        shopify: { scheme: "shopify", secret: webhookSecrets.shopify, entity: { from: "path" } },
        standard: {
          scheme: "standard-webhooks",
          secret: webhookSecrets.standard,
          entity: { from: "path" },
        },
      },
    },
  };
  writeFileSync(configFile, JSON.stringify(config));
  return {
    configFile,
    token: "test-token-with-every-permission-000000",
    accountId: "local",
    upstreamUrl: upstream.url,
    async stop() {
      await upstream.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
