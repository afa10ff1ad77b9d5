/**
 * Requests that ask a provider for an inference: nothing that is kept there is listed, read, changed or made. `{name}` is
 * one segment of a path, `{name+}` one or more, `(a|b)` either. A version such as `v1` in front is left out.
 */
interface Inferences {
  /** Paths of POST requests. */
  readonly posts: readonly string[];
  /** Paths of WebSockets. @default none */
  readonly sockets?: readonly string[];
}

/** Requests in the formats of OpenAI and Anthropic, allowed at every provider, a custom or unknown one included. */
const common: readonly string[] = [
  "(chat/|)completions",
  "responses(/compact|/input_tokens|)",
  "messages(/count_tokens|)",
  "embeddings",
  "moderations",
  "rerank",
  "images/(generations|edits|variations)",
  "audio/(speech|transcriptions|translations)",
];

/** Gemini's methods that keep nothing. */
const GEMINI =
  ":(generateContent|streamGenerateContent|countTokens|embedContent|batchEmbedContents|predict)";

/**
 * Further requests for each provider beside {@link common}, by its path segment. Other providers take only the common ones.
 * Each list is from the provider's public reference of its API.
 */
const lists: Readonly<Record<string, Inferences>> = {
  // https://platform.openai.com/docs/api-reference
  openai: { posts: [], sockets: ["realtime"] },
  // https://docs.claude.com/en/api/complete
  anthropic: { posts: ["complete"] },
  // https://ai.google.dev/api
  "google-ai-studio": {
    posts: [`models/{model}${GEMINI}`, "openai/(chat/completions|embeddings|images/generations)"],
    sockets: ["ws/google.ai.generativelanguage.{version}.GenerativeService.BidiGenerateContent"],
  },
  // https://cloud.google.com/vertex-ai/docs/reference/rest
  "google-vertex-ai": {
    posts: [
      `(projects/{project}/locations/{location}/|)publishers/{publisher}/models/{model}${GEMINI}`,
      "(projects/{project}/locations/{location}/|)publishers/{publisher}/models/{model}:(rawPredict|streamRawPredict)",
      "projects/{project}/locations/{location}/endpoints/openapi/chat/completions",
    ],
    sockets: ["ws/google.cloud.aiplatform.{version}.LlmBidiService/BidiGenerateContent"],
  },
  // https://learn.microsoft.com/en-us/azure/ai-services/openai/reference
  "azure-openai": {
    posts: [
      "(deployments/|){deployment}/(chat/|)completions",
      "(deployments/|){deployment}/embeddings",
      "(deployments/|){deployment}/images/(generations|edits)",
      "(deployments/|){deployment}/audio/(speech|transcriptions|translations)",
    ],
    sockets: ["realtime"],
  },
  // https://docs.aws.amazon.com/bedrock/latest/APIReference/API_Operations_Amazon_Bedrock_Runtime.html
  "aws-bedrock": {
    posts: [
      "model/{model}/(invoke|invoke-with-response-stream|converse|converse-stream|count-tokens)",
      "openai/v1/(chat/completions|responses)",
      "anthropic/v1/messages(/count_tokens|)",
    ],
  },
  // https://api-docs.deepseek.com
  deepseek: { posts: ["anthropic/v1/messages"] },
  // https://docs.perplexity.ai/api-reference
  "perplexity-ai": { posts: ["search", "sonar"] },
  // https://docs.x.ai/docs/api-reference
  grok: { posts: ["complete", "tokenize-text", "tts", "stt"], sockets: ["realtime"] },
  // https://docs.mistral.ai/api
  mistral: { posts: ["fim/completions", "ocr", "(chat/|)(moderations|classifications)"] },
  // https://docs.cohere.com/reference
  cohere: {
    posts: [
      "(chat|generate|embed|classify|summarize|tokenize|detokenize)",
      "compatibility/v1/(chat/completions|embeddings)",
    ],
  },
  // https://huggingface.co/docs/inference-providers
  huggingface: {
    posts: [
      "(models/|){model}",
      "(models/|){owner}/{model}",
      "(models/|){owner}/{model}/v1/chat/completions",
      "(models/|){owner}/{model}/pipeline/{task}",
      "pipeline/{task}/{owner}/{model}",
      "{provider}/v1/chat/completions",
    ],
  },
  // https://replicate.com/docs/reference/http
  replicate: { posts: ["predictions", "(models|deployments)/{owner}/{name}/predictions"] },
  // https://docs.fal.ai/model-endpoints: direct calls; a queue keeps requests.
  fal: {
    posts: [
      "{owner}/{app}",
      "{owner}/{app}/{part}",
      "{owner}/{app}/{part}/{part}",
      "{owner}/{app}/{a}/{b}/{c}",
    ],
    sockets: ["{owner}/{app}(/{part}|)(/realtime|)"],
  },
  // https://developer.ideogram.ai/api-reference
  ideogram: {
    posts: [
      "(generate|edit|remix|upscale|reframe|describe)",
      "ideogram-{version}/(generate|generate-transparent|edit|remix|reframe|replace-background)",
    ],
  },
  // https://docs.cartesia.ai/api-reference
  cartesia: {
    posts: ["tts/(bytes|sse)", "stt", "infill/bytes", "voice-changer/(bytes|sse)"],
    sockets: ["tts/websocket", "stt/websocket"],
  },
  // https://developers.deepgram.com/reference
  deepgram: { posts: ["listen", "speak", "read"], sockets: ["listen", "speak", "agent/converse"] },
  // https://elevenlabs.io/docs/api-reference: agents are stored there, so conversations with them are left out.
  elevenlabs: {
    posts: [
      "text-to-speech/{voice}(/stream|)(/with-timestamps|)",
      "speech-to-speech/{voice}(/stream|)",
      "speech-to-text",
      "sound-generation",
      "text-to-dialogue(/stream|)(/with-timestamps|)",
      "audio-isolation(/stream|)",
      "music(/stream|/detailed|/plan|)",
    ],
    sockets: [
      "text-to-speech/{voice}/(stream-input|multi-stream-input)",
      "speech-to-text/realtime",
    ],
  },
  // https://docs.baseten.co/reference/inference-api
  baseten: {
    posts: ["(environments/{environment}/|production/|development/|deployment/{id}/|)predict"],
  },
  // https://docs.parallel.ai/api-reference
  parallel: { posts: ["search", "extract"] },
  // https://developers.cloudflare.com/api/resources/ai
  "workers-ai": { posts: ["(run/|)@(cf|hf)/{model+}"], sockets: ["(run/|)@(cf|hf)/{model+}"] },
  // https://docs.ollama.com/api
  ollama: { posts: ["api/(generate|chat|embed|embeddings)"] },
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
  vllm: { posts: ["(tokenize|detokenize|pooling|classify|score)"] },
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  "llama-cpp": {
    posts: ["(completion|infill|embedding|reranking|tokenize|detokenize|apply-template)"],
  },
  // https://lmstudio.ai/docs/developer/rest/endpoints
  "lm-studio": { posts: ["api/v0/((chat/|)completions|embeddings)"] },
};

/** The host of each provider that has several: requests to another one ask for stored objects. */
const hosts: Readonly<Record<string, string>> = { fal: "https://fal.run" };

interface Compiled {
  readonly posts: RegExp;
  readonly sockets: RegExp | null;
}

const commonPosts = oneOf(common);
const compiled: ReadonlyMap<string, Compiled> = new Map(
  Object.entries(lists).map(([slug, { posts, sockets = [] }]) => [
    slug,
    {
      posts: oneOf([...common, ...posts]),
      sockets: sockets.length === 0 ? null : oneOf(sockets),
    },
  ]),
);

function oneOf(paths: readonly string[]): RegExp {
  const sources = paths.map((path) =>
    path
      .replaceAll(".", "\\.")
      .replaceAll("(", "(?:")
      .replaceAll(/\{\w+\+\}/g, "[^/]+(?:/[^/]+)*")
      .replaceAll(/\{\w+\}/g, "[^/]+"),
  );
  return new RegExp(`^(?:${sources.join("|")})$`);
}

/** Providers whose lists of inferences are their own. */
export const listedProviders: ReadonlySet<string> = new Set(compiled.keys());

/** A request, as far as that decides whether it is an inference. */
export interface ReachedPath {
  readonly slug: string;
  readonly method: string;
  /** Behind the provider's base URL, without a version in front, see `plainPath`. */
  readonly path: string;
  /** The host that the request names itself. */
  readonly origin?: string | undefined;
  /** Whether it opens a WebSocket. @default false */
  readonly isSocket?: boolean | undefined;
}

/** Whether a request asks for an inference, and for nothing else. */
export function isInference({ slug, method, path, origin, isSocket }: ReachedPath): boolean {
  if (origin !== undefined && origin !== hosts[slug]) return false;
  const own = compiled.get(slug);
  if (isSocket === true) return own?.sockets?.test(path) === true;
  return method === "POST" && (own?.posts ?? commonPosts).test(path);
}

/** Providers whose models take sound and pictures as they are. */
const TAKE_UPLOADS: ReadonlySet<string> = new Set(
  "huggingface ideogram workers-ai fal baseten".split(" "),
);

/** Whether an inference is asked with a file: such a body may be too long to be read here. */
export function takesUpload({ slug, path }: Pick<ReachedPath, "slug" | "path">): boolean {
  return (
    TAKE_UPLOADS.has(slug) ||
    /^(?:audio\/|images\/|listen$|stt$|speech-to-|audio-isolation|voice-changer\/)/.test(path)
  );
}

/** Returns a path behind a provider's base URL without the version in front of it. */
export function plainPath(path: string): string {
  return path.replace(/^(?:v\d\w*|alpha|beta)\//, "");
}
