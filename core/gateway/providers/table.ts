import { vertexHost } from "./google/vertex-host.ts";

/** Where paths of a provider that begin in a certain way lead. */
export interface Place {
  /** Leading segments of the path that the base URL takes up. */
  readonly path: string;
  /** Base URL without a slash at its end; `{…}` are segments of `path`. */
  readonly baseUrl: string;
  /** What stands behind those segments where the path means something else. @default nothing */
  readonly unless?: RegExp;
}

/** What a provider's realtime WebSocket differs in from its HTTP paths. */
export interface Realtime {
  /** Path when the client names none; `{name}` is taken out of the query. @default none: the client has to name one */
  readonly path?: string;
  /** Where it lives when that is not the provider's base URL, for paths that `except` does not match. */
  readonly base?: { readonly url: string; readonly except: RegExp };
  /** Query parameters by the names that the provider knows. @default {} */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Subprotocol `{word}.{key}` that carries a key from browsers. @default none */
  readonly keyWord?: string;
  /** Subprotocols after which the next one is the credential, and the scheme that it then has. @default {} */
  readonly keyAfter?: Readonly<Record<string, string>>;
}

/** A provider that a path segment names: data, so that adding one is adding a row. */
export interface Provider {
  /** Base URL without a slash at its end; `{…}` are segments of `path`. Null: it must be configured. */
  readonly baseUrl: string | null;
  /** Header names that can carry a credential. The first is the native one: a stored key goes there. */
  readonly credentials: readonly [string, ...string[]];
  /** Word before a key in the native header. @default "Bearer" in `authorization`, else none */
  readonly scheme?: string;
  /** Query parameters that can carry a credential. @default none */
  readonly queryCredentials?: readonly string[];
  /** Leading segments of the path that the base URL takes up, e.g. `{resource}/{deployment}`. */
  readonly path?: string;
  /** A request header that names the whole `https:` address in place of the path, and the hosts that it may. @default none */
  readonly addressIn?: Readonly<{ header: string; hosts: RegExp }>;
  /** The header of an answer that says where an upload goes on. @default none */
  readonly uploadAddress?: string;
  /** Other places, looked for before `path`. @default none */
  readonly places?: readonly Place[];
  /** The base URL for a path, where the path decides it. @default `baseUrl` */
  readonly hostOf?: (rest: string) => string;
  /** @default WebSockets are reached by the provider's own paths */
  readonly realtime?: Realtime;
  /** Whether `v1` is put before a path that names no version. @default never */
  readonly versioned?: true;
  /** Where the provider takes chat requests in OpenAI's format, translated ones included. @default nowhere */
  readonly openaiChat?: string;
  /** Formats beside OpenAI's chat that the provider takes itself, below `v1`. @default none */
  readonly serves?: readonly ("responses" | "messages")[];
  /** How its chats differ from OpenAI's. @default `max_tokens`, the usage of streams is asked for */
  readonly dialect?: Readonly<{
    limit?: "max_completion_tokens";
    asksUsage?: false;
    wantsThoughts?: true;
  }>;
  /**
   * How streams in OpenAI's format tell their usage: all by themselves, or when `stream_options` asks.
   * @default not known: they are not asked
   */
  readonly streamUsage?: "told" | "asked";
  /** In whose words its answers tell their usage. @default any: it serves models of several families */
  readonly usage?: readonly ("openai" | "google" | "cohere" | "replicate")[];
  /** The provider's own chat format, into which the path `chat/completions` is translated. @default OpenAI's */
  readonly chat?: "anthropic" | "gemini" | "workers-ai";
}

const bearer = ["authorization"] as const;
const CHAT = "chat/completions";

/** The demo provider's path segment. */
export const ECHO = "echo";

/** Every built-in provider by its path segment. */
export const providers: Readonly<Record<string, Provider>> = {
  openai: {
    usage: ["openai"],
    baseUrl: "https://api.openai.com",
    credentials: bearer,
    versioned: true,
    openaiChat: CHAT,
    streamUsage: "asked",
    serves: ["responses"],
    dialect: { limit: "max_completion_tokens" },
    realtime: { path: "v1/realtime", keyWord: "openai-insecure-api-key" },
  },
  anthropic: {
    usage: ["openai"],
    baseUrl: "https://api.anthropic.com",
    credentials: ["x-api-key", "authorization"],
    chat: "anthropic",
    openaiChat: CHAT,
    serves: ["messages"],
  },
  "google-ai-studio": {
    usage: ["google", "openai"],
    baseUrl: "https://generativelanguage.googleapis.com",
    credentials: ["x-goog-api-key", "authorization"],
    queryCredentials: ["key"],
    uploadAddress: "x-goog-upload-url",
    chat: "gemini",
    openaiChat: CHAT,
    realtime: {
      path: "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
      parameters: { api_key: "key" },
    },
  },
  "google-vertex-ai": {
    baseUrl: "https://aiplatform.googleapis.com",
    hostOf: vertexHost,
    credentials: bearer,
  },
  "azure-openai": {
    usage: ["openai"],
    baseUrl: "https://{resource}.openai.azure.com/openai/deployments/{deployment}",
    path: "{resource}/{deployment}",
    // As Azure's own clients write it: of the service, or of any deployment of it. One may be called "openai", too.
    places: [
      {
        path: "{resource}/openai",
        baseUrl: "https://{resource}.openai.azure.com/openai",
        unless: /^(?:(?:chat\/)?completions|embeddings|images\/|audio\/)/,
      },
      {
        path: "{resource}/deployments",
        baseUrl: "https://{resource}.openai.azure.com/openai/deployments",
      },
      // Below a base URL that names the deployment, they name one again.
      {
        path: "{resource}/{deployment}/deployments/{again}",
        baseUrl: "https://{resource}.openai.azure.com/openai/deployments/{deployment}",
      },
    ],
    streamUsage: "asked",
    credentials: ["api-key", "authorization"],
  },
  "aws-bedrock": {
    baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
    path: "bedrock-runtime/{region}",
    places: [
      { path: "bedrock-mantle/{region}", baseUrl: "https://bedrock-mantle.{region}.api.aws" },
    ],
    credentials: ["authorization", "x-api-key"],
  },
  groq: {
    usage: ["openai"],
    baseUrl: "https://api.groq.com/openai/v1",
    credentials: bearer,
    openaiChat: CHAT,
    streamUsage: "told",
    serves: ["responses"],
  },
  fireworks: {
    usage: ["openai"],
    baseUrl: "https://api.fireworks.ai/inference/v1",
    credentials: bearer,
    openaiChat: CHAT,
    streamUsage: "told",
    serves: ["responses", "messages"],
  },
  deepseek: {
    usage: ["openai"],
    baseUrl: "https://api.deepseek.com",
    credentials: bearer,
    openaiChat: CHAT,
    streamUsage: "told",
    dialect: { wantsThoughts: true },
  },
  "perplexity-ai": {
    usage: ["openai"],
    baseUrl: "https://api.perplexity.ai",
    credentials: bearer,
    openaiChat: CHAT,
    streamUsage: "told",
  },
  grok: {
    usage: ["openai"],
    baseUrl: "https://api.x.ai",
    credentials: bearer,
    versioned: true,
    openaiChat: CHAT,
    streamUsage: "told",
    serves: ["responses"],
  },
  mistral: {
    usage: ["openai"],
    baseUrl: "https://api.mistral.ai",
    credentials: bearer,
    versioned: true,
    openaiChat: CHAT,
    streamUsage: "told",
    dialect: { asksUsage: false },
  },
  cerebras: {
    usage: ["openai"],
    baseUrl: "https://api.cerebras.ai",
    credentials: bearer,
    versioned: true,
    openaiChat: CHAT,
    streamUsage: "told",
  },
  openrouter: {
    usage: ["openai"],
    baseUrl: "https://openrouter.ai/api",
    credentials: bearer,
    versioned: true,
    openaiChat: CHAT,
    streamUsage: "told",
    serves: ["responses", "messages"],
  },
  cohere: {
    usage: ["openai", "cohere"],
    baseUrl: "https://api.cohere.com",
    credentials: bearer,
    openaiChat: "compatibility/v1/chat/completions",
  },
  huggingface: { baseUrl: "https://api-inference.huggingface.co/models", credentials: bearer },
  replicate: {
    baseUrl: "https://api.replicate.com",
    credentials: bearer,
    versioned: true,
    usage: ["replicate", "openai"],
  },
  fal: {
    baseUrl: "https://fal.run",
    credentials: bearer,
    scheme: "Key",
    queryCredentials: ["fal_jwt_token"],
    // What its own clients send to a `proxyUrl`: they use a host for each of queue, storage and direct calls.
    addressIn: {
      header: "x-fal-target-url",
      hosts: /^(?:[a-z\d-]{1,63}\.){0,3}fal\.(?:run|ai)$/,
    },
    // HTTP over WebSocket; apps with a realtime endpoint of their own are on the ordinary host.
    realtime: {
      base: { url: "https://ws.fal.run", except: /\/realtime$/ },
      keyWord: "fal-api-key",
    },
  },
  ideogram: { baseUrl: "https://api.ideogram.ai", credentials: ["authorization", "api-key"] },
  cartesia: {
    baseUrl: "https://api.cartesia.ai",
    credentials: ["authorization", "x-api-key"],
    queryCredentials: ["api_key", "access_token"],
    realtime: { path: "tts/websocket" },
  },
  deepgram: {
    baseUrl: "https://api.deepgram.com",
    credentials: ["authorization", "token"],
    scheme: "Token",
    realtime: {
      path: "v1/listen",
      // Voice agents have a host of their own.
      base: { url: "https://agent.deepgram.com", except: /^(?!v1\/agent\/)/ },
      keyAfter: { token: "Token", bearer: "Bearer" },
    },
  },
  elevenlabs: {
    baseUrl: "https://api.elevenlabs.io",
    credentials: ["xi-api-key", "authorization"],
    realtime: { path: "v1/convai/conversation", keyWord: "xi-api-key" },
  },
  baseten: { baseUrl: null, credentials: bearer, openaiChat: CHAT },
  parallel: { baseUrl: null, credentials: ["authorization", "x-api-key"] },
  "workers-ai": {
    baseUrl: null,
    credentials: bearer,
    chat: "workers-ai",
    openaiChat: CHAT,
    realtime: { path: "run/{model}" },
  },
};

/** How a provider's WebSockets differ; undefined where they do not. */
export function realtimeOf(slug: string): Realtime | undefined {
  return Object.hasOwn(providers, slug) ? providers[slug]?.realtime : undefined;
}

/** Every header name in which some provider takes a credential; none of them may travel to another one. */
export const credentialHeaders: ReadonlySet<string> = new Set(
  Object.values(providers).flatMap(({ credentials }) => credentials),
);

/** Every query parameter in which some provider takes a credential. */
export const queryCredentials: ReadonlySet<string> = new Set(
  Object.values(providers).flatMap((provider) => provider.queryCredentials ?? []),
);

/** The value of a provider's native credential header for a key. */
export function credentialValue(provider: Provider, key: string): string {
  const scheme = provider.scheme ?? (provider.credentials[0] === "authorization" ? "Bearer" : "");
  return scheme === "" ? key : `${scheme} ${key}`;
}
