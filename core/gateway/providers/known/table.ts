import { ownMember } from "../../../http/json.ts";
import type { Provider } from "./provider.ts";

const bearer = ["authorization"] as const;
const CHAT = "chat/completions";

/** The facts of a provider of OpenAI's format whose streams report their usage unasked. */
const likeOpenAi = {
  usage: ["openai"],
  credentials: bearer,
  openaiChat: CHAT,
  streamUsage: "told",
} as const satisfies Partial<Provider>;

/** Returns the host of a path at Vertex AI. Each region has its own; "global" has none, and "us" and "eu" span several. */
function vertexHost(rest: string): string {
  const place = /(?:^|\/)locations\/([a-z]+-[a-z]+\d+|us|eu)\//.exec(rest)?.[1];
  if (place === undefined) return "https://aiplatform.googleapis.com";
  return place.length === 2
    ? `https://aiplatform.${place}.rep.googleapis.com`
    : `https://${place}-aiplatform.googleapis.com`;
}

/** The model in a path, as most providers have it. */
export const MODEL_SEGMENT: RegExp = /(?:^|\/)(?:models|model|deployments)\/([^/:?]+)/i;

/** Paths of OpenAI's and Anthropic's formats, which servers of models have below `v1`, beside their own ones. */
const OF_OPENAI =
  /^(?:(?:chat\/)?completions|responses|messages|embeddings|models|audio\/\w+|images\/\w+|moderations)(?:\/|$)/;

/** Returns a server of models that people run themselves. */
function ownServer(baseUrl: string): Provider {
  return { ...likeOpenAi, baseUrl, versioned: OF_OPENAI, streamUsage: "asked", local: true };
}

/** The demo provider's path segment. */
export const ECHO = "echo";

/** Every built-in provider by its path segment. */
export const providers: Readonly<Record<string, Provider>> = {
  openai: {
    ...likeOpenAi,
    baseUrl: "https://api.openai.com",
    versioned: true,
    streamUsage: "asked",
    serves: ["responses"],
    dialect: { limit: "max_completion_tokens", systemAnywhere: true },
    realtime: { path: "v1/realtime", keyWord: "openai-insecure-api-key" },
  },
  anthropic: {
    usage: ["openai"],
    baseUrl: "https://api.anthropic.com",
    credentials: ["x-api-key", "authorization"],
    chat: "anthropic",
    openaiChat: CHAT,
    serves: ["messages"],
    // https://docs.claude.com/en/api/messages-count-tokens
    countsMessages: true,
  },
  "google-ai-studio": {
    usage: ["google", "openai"],
    baseUrl: "https://generativelanguage.googleapis.com",
    credentials: ["x-goog-api-key", "authorization"],
    queryCredentials: ["key"],
    uploadAddress: "x-goog-upload-url",
    modelInPath: MODEL_SEGMENT,
    chat: "gemini",
    openaiChat: CHAT,
    realtime: {
      path: "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
      parameters: { api_key: "key" },
    },
  },
  "google-vertex-ai": {
    baseUrl: "https://aiplatform.googleapis.com",
    cloud: "vertex",
    hostOf: vertexHost,
    modelInPath: MODEL_SEGMENT,
    credentials: bearer,
  },
  "azure-openai": {
    cloud: "azure",
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
    // The deployment; the gateway also takes paths without `openai/deployments/` in front of it.
    modelInPath:
      /^(?!.*deployments\/)(?:.*?\/)??(?!v1\/|chat\/completions(?:\/|$))([^/:?]+)[^/]*\/(?:chat\/completions|completions|embeddings|images|audio)(?:\/|$)/i,
  },
  "aws-bedrock": {
    cloud: "bedrock",
    baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
    path: "bedrock-runtime/{region}",
    places: [
      { path: "bedrock-mantle/{region}", baseUrl: "https://bedrock-mantle.{region}.api.aws" },
    ],
    credentials: ["authorization", "x-api-key"],
    // Without the model's revision; Amazon's clients escape the colon before it.
    modelInPath: /(?:^|\/)(?:models|model|deployments)\/([^/:?]+?)(?:%3[Aa]\d{1,4}\/|[/:?]|$)/,
  },
  groq: {
    ...likeOpenAi,
    baseUrl: "https://api.groq.com/openai/v1",
    serves: ["responses"],
  },
  fireworks: {
    ...likeOpenAi,
    baseUrl: "https://api.fireworks.ai/inference/v1",
    serves: ["responses", "messages"],
  },
  deepseek: {
    ...likeOpenAi,
    baseUrl: "https://api.deepseek.com",
    dialect: { wantsThoughts: true },
  },
  "perplexity-ai": {
    ...likeOpenAi,
    tellsCost: "perplexity",
    baseUrl: "https://api.perplexity.ai",
  },
  grok: {
    ...likeOpenAi,
    tellsCost: "xai",
    baseUrl: "https://api.x.ai",
    versioned: true,
    serves: ["responses"],
  },
  mistral: {
    ...likeOpenAi,
    baseUrl: "https://api.mistral.ai",
    versioned: true,
    dialect: { asksUsage: false },
  },
  cerebras: {
    ...likeOpenAi,
    baseUrl: "https://api.cerebras.ai",
    versioned: true,
  },
  openrouter: {
    ...likeOpenAi,
    tellsCost: "openrouter",
    baseUrl: "https://openrouter.ai/api",
    versioned: true,
    serves: ["responses", "messages"],
  },
  cohere: {
    usage: ["openai", "cohere"],
    baseUrl: "https://api.cohere.com",
    credentials: bearer,
    openaiChat: "compatibility/v1/chat/completions",
  },
  huggingface: {
    baseUrl: "https://api-inference.huggingface.co/models",
    credentials: bearer,
    modelInPath: /^(?:models\/)?((?!v1\/)[^/]+(?:\/(?!v1\/|pipeline\/)[^/]+)?)/,
  },
  replicate: {
    baseUrl: "https://api.replicate.com",
    credentials: bearer,
    versioned: true,
    usage: ["replicate", "openai"],
    modelInPath: /^(?:v1\/)?(?:models|deployments)\/([^/]+\/[^/]+)/,
  },
  fal: {
    baseUrl: "https://fal.run",
    credentials: bearer,
    scheme: "Key",
    queryCredentials: ["fal_jwt_token"],
    // The header that fal's own clients send to a `proxyUrl`: they use a host for each of queue, storage and direct calls.
    addressIn: {
      header: "x-fal-target-url",
      hosts: /^(?:[a-z\d-]{1,63}\.){0,3}fal\.(?:run|ai)$/,
    },
    // HTTP over WebSocket; apps with a realtime endpoint of their own are on the ordinary host.
    realtime: {
      base: { url: "https://ws.fal.run", except: /\/realtime$/ },
      keyWord: "fal-api-key",
    },
    modelInPath: /^(?!storage\/|tokens\b)(.+?)(?:\/(?:requests|stream|realtime)(?:\/.*)?)?$/,
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
    // Its own paths, such as `run/{model}`, have no version.
    versioned: /^chat\/completions$/,
    openaiChat: CHAT,
    realtime: { path: "run/{model}" },
    modelInPath: MODEL_SEGMENT,
  },
  // https://docs.ollama.com/api/openai-compatibility
  ollama: ownServer("http://127.0.0.1:11434"),
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
  vllm: ownServer("http://127.0.0.1:8000"),
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  "llama-cpp": ownServer("http://127.0.0.1:8080"),
  // https://lmstudio.ai/docs/developer/openai-compat
  "lm-studio": ownServer("http://127.0.0.1:1234"),
};

/** Returns the row of a built-in provider. Callers name the path segment, so inherited members must not be found. */
export function providerRow(slug: string): Provider | undefined {
  return ownMember(providers, slug);
}

/** Whether a path segment is that of a server of the operator's own. */
export function isLocal(slug: string): boolean {
  return providerRow(slug)?.local === true;
}

/** Every header name in which some provider takes a credential; they must never travel to another provider. */
export const credentialHeaders: ReadonlySet<string> = new Set(
  Object.values(providers).flatMap(({ credentials }) => credentials),
);

/** Every query parameter in which some provider takes a credential. */
export const queryCredentials: ReadonlySet<string> = new Set(
  Object.values(providers).flatMap((provider) => provider.queryCredentials ?? []),
);
