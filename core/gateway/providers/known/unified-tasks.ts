/** Other requests than chats that the unified endpoint takes, by their paths. */
export const unifiedTasks = [
  "embeddings",
  "completions",
  "responses/compact",
  "responses/input_tokens",
  "images/generations",
  "images/edits",
  "audio/speech",
  "audio/transcriptions",
  "audio/translations",
  "moderations",
  "rerank",
] as const;

/** One of {@link unifiedTasks}. */
export type UnifiedTask = (typeof unifiedTasks)[number];

type TaskPaths = Readonly<Partial<Record<UnifiedTask, string>>>;

const local: TaskPaths = { embeddings: "v1/embeddings", completions: "v1/completions" };

/** Their paths at each provider that takes them in OpenAI's formats, and reranking in Cohere's. */
const paths: Readonly<Record<string, TaskPaths>> = {
  // https://platform.openai.com/docs/api-reference
  openai: {
    embeddings: "v1/embeddings",
    completions: "v1/completions",
    "responses/compact": "v1/responses/compact",
    "responses/input_tokens": "v1/responses/input_tokens",
    "images/generations": "v1/images/generations",
    "images/edits": "v1/images/edits",
    "audio/speech": "v1/audio/speech",
    "audio/transcriptions": "v1/audio/transcriptions",
    "audio/translations": "v1/audio/translations",
    moderations: "v1/moderations",
  },
  // https://ai.google.dev/gemini-api/docs/openai
  "google-ai-studio": {
    embeddings: "v1beta/openai/embeddings",
    "images/generations": "v1beta/openai/images/generations",
  },
  // https://console.groq.com/docs/text-to-speech and https://console.groq.com/docs/speech-to-text
  groq: {
    "audio/speech": "audio/speech",
    "audio/transcriptions": "audio/transcriptions",
    "audio/translations": "audio/translations",
  },
  // https://docs.fireworks.ai/guides/querying-embeddings-models
  fireworks: { embeddings: "embeddings", completions: "completions", rerank: "rerank" },
  // https://docs.x.ai/docs/guides/image-generations
  grok: { "images/generations": "v1/images/generations", "images/edits": "v1/images/edits" },
  // https://docs.mistral.ai/api
  mistral: {
    embeddings: "v1/embeddings",
    "audio/transcriptions": "v1/audio/transcriptions",
    moderations: "v1/moderations",
  },
  // https://openrouter.ai/docs/api/reference/embeddings and https://openrouter.ai/docs/api-reference/completion
  openrouter: { embeddings: "v1/embeddings", completions: "v1/completions" },
  // https://docs.cohere.com/docs/compatibility-api and https://docs.cohere.com/reference/rerank
  cohere: { embeddings: "compatibility/v1/embeddings", rerank: "v2/rerank" },
  // https://developers.cloudflare.com/workers-ai/configuration/open-ai-compatibility/
  "workers-ai": { embeddings: "v1/embeddings" },
  // Their settings say where (`clouds/cloud-place.ts`).
  "azure-openai": {
    embeddings: "embeddings",
    "images/generations": "images/generations",
    "images/edits": "images/edits",
    "audio/speech": "audio/speech",
    "audio/transcriptions": "audio/transcriptions",
    "audio/translations": "audio/translations",
  },
  "google-vertex-ai": { embeddings: "embeddings" },
  "aws-bedrock": { embeddings: "embeddings", rerank: "rerank" },
  // https://docs.ollama.com/api/openai-compatibility
  ollama: local,
  // https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html
  vllm: { ...local, rerank: "v1/rerank", "audio/transcriptions": "v1/audio/transcriptions" },
  // https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md
  "llama-cpp": { ...local, rerank: "v1/rerank" },
  // https://lmstudio.ai/docs/developer/openai-compat
  "lm-studio": local,
};

/** Whether a format is that of one of {@link unifiedTasks}. */
export function isUnifiedTask(format: string): format is UnifiedTask {
  return unifiedTasks.some((one) => one === format);
}

/** Returns the path of a task at a provider; undefined where it has none. A custom provider may have all. */
export function taskPath(slug: string, task: UnifiedTask): string | undefined {
  if (slug.startsWith("custom-")) return task;
  return Object.hasOwn(paths, slug) ? paths[slug]?.[task] : undefined;
}

export function providersWith(task: UnifiedTask): string[] {
  return Object.keys(paths).filter((slug) => taskPath(slug, task) !== undefined);
}
