import { describe, expect, it } from "vitest";
import {
  isInference,
  listedProviders,
  plainPath,
} from "../../../../core/gateway/providers/reach/inferences.ts";
import { providers } from "../../../../core/gateway/providers/known/table.ts";
import { providerPath } from "../../../../core/gateway/providers/target.ts";

const targets = {
  providers: {
    baseten: { baseUrl: "https://inference.baseten.co/v1" },
    parallel: { baseUrl: "https://api.parallel.ai" },
    "workers-ai": { baseUrl: "https://api.cloudflare.com/client/v4/accounts/a/ai" },
    ollama: {},
    vllm: {},
    "llama-cpp": {},
    "lm-studio": {},
  },
  demo: false,
};
const asks = (method: string, slug: string, rest: string, isSocket = false): boolean => {
  const path = providerPath({ slug, rest }, targets);
  return path !== null && isInference({ slug, method, path, isSocket });
};

/** For each provider: requests that are inferences, and requests for what is kept there. */
const known: Readonly<Record<string, readonly [inferences: string, kept: string]>> = {
  openai: [
    "chat/completions v1/chat/completions v1/responses v1/responses/compact v1/embeddings v1/images/edits v1/audio/transcriptions v1/moderations",
    "v1/files v1/batches v1/fine_tuning/jobs v1/assistants v1/threads v1/threads/runs v1/vector_stores v1/responses/resp_1 v1/responses/resp_1/cancel v1/chat/completions/chatcmpl_1 v1/conversations v1/realtime/client_secrets v1/realtime/calls v1/videos v1/organization/usage/completions v1/containers v1/evals v1/uploads",
  ],
  anthropic: [
    "v1/messages v1/messages/count_tokens v1/complete chat/completions",
    "v1/messages/batches v1/files v1/skills v1/organizations/api_keys v1/models",
  ],
  "google-ai-studio": [
    "v1beta/models/gemini-2.5-flash:generateContent v1beta/models/g:streamGenerateContent v1beta/models/g:batchEmbedContents v1beta/openai/chat/completions",
    "v1beta/files upload/v1beta/files v1beta/cachedContents v1beta/models/g:batchGenerateContent v1beta/models/g:predictLongRunning v1beta/tunedModels v1beta/corpora v1beta/fileSearchStores v1beta/tunedModels/t:generateContent v1beta/openai/files v1alpha/auth_tokens",
  ],
  "google-vertex-ai": [
    "v1/projects/p/locations/us-central1/publishers/google/models/g:generateContent v1/projects/p/locations/l/publishers/anthropic/models/c:streamRawPredict v1/projects/p/locations/l/endpoints/openapi/chat/completions",
    "v1/projects/p/locations/l/cachedContents v1/projects/p/locations/l/batchPredictionJobs v1/projects/p/locations/l/endpoints v1/projects/p/locations/l/publishers/google/models/g:predictLongRunning",
  ],
  "azure-openai": [
    "r/d/chat/completions r/openai/deployments/d/chat/completions r/deployments/d/embeddings r/d/deployments/e/chat/completions r/openai/responses r/openai/v1/responses r/d/images/edits",
    "r/openai/files r/openai/v1/files r/openai/batches r/openai/assistants r/openai/fine_tuning/jobs r/openai/deployments/d r/openai/responses/resp_1",
  ],
  "aws-bedrock": [
    "bedrock-runtime/us-east-1/model/anthropic.claude-v2%3A1/invoke bedrock-runtime/us-east-1/model/m/converse-stream bedrock-mantle/us-east-1/v1/chat/completions",
    "bedrock-runtime/us-east-1/async-invoke bedrock-runtime/us-east-1/guardrail/g/version/1/apply bedrock-mantle/us-east-1/v1/files",
  ],
  groq: [
    "chat/completions openai/v1/chat/completions responses audio/transcriptions",
    "batches files models openai/v1/files",
  ],
  fireworks: ["chat/completions inference/v1/completions messages", "responses/resp_1 models"],
  deepseek: ["chat/completions beta/completions anthropic/v1/messages", "user/balance models"],
  "perplexity-ai": ["chat/completions search", "async/chat/completions"],
  grok: [
    "chat/completions v1/responses v1/images/generations",
    "v1/api-key v1/responses/r v1/files v1/batches",
  ],
  mistral: [
    "chat/completions v1/fim/completions v1/ocr v1/embeddings v1/audio/transcriptions v1/chat/moderations",
    "v1/files v1/agents v1/agents/completions v1/conversations v1/batch/jobs v1/fine_tuning/jobs v1/libraries",
  ],
  cerebras: ["chat/completions v1/completions", "v1/files v1/batches"],
  openrouter: [
    "chat/completions v1/responses v1/messages v1/embeddings api/v1/chat/completions",
    "v1/keys v1/credits v1/generation v1/auth/keys",
  ],
  cohere: [
    "v2/chat v1/embed v2/rerank compatibility/v1/chat/completions",
    "v1/datasets v1/connectors v1/finetuning/finetuned-models v1/embed-jobs",
  ],
  huggingface: [
    "gpt2 meta-llama/Llama-3 models/meta-llama/Llama-3/v1/chat/completions",
    "meta-llama/Llama-3/settings a/b/c/d",
  ],
  replicate: [
    "v1/predictions predictions v1/models/meta/llama/predictions",
    "v1/files v1/trainings v1/predictions/p/cancel v1/deployments v1/models",
  ],
  fal: ["fal-ai/flux/dev fal-ai/fast-sdxl", "storage"],
  ideogram: ["v1/ideogram-v3/generate generate", "datasets v1/datasets/d/upload_assets"],
  cartesia: ["tts/bytes stt voice-changer/sse", "voices voices/clone access-token datasets"],
  deepgram: ["v1/listen v1/speak v2/listen", "v1/projects/p/keys v1/auth/grant"],
  elevenlabs: [
    "v1/text-to-speech/voice/stream v1/speech-to-text v1/sound-generation",
    "v1/voices/add v1/history/h v1/convai/agents/create v1/dubbing v1/service-accounts/s/api-keys",
  ],
  baseten: ["chat/completions environments/production/predict", "async_predict models"],
  parallel: ["v1beta/search chat/completions", "v1/tasks/runs v1beta/findall/runs"],
  "workers-ai": [
    "run/@cf/meta/llama-3 v1/chat/completions @cf/meta/llama-3",
    "finetunes tomarkdown",
  ],
  ollama: [
    "v1/chat/completions api/chat api/generate api/embed",
    "api/pull api/push api/create api/copy api/delete api/blobs/sha256:0",
  ],
  vllm: [
    "v1/chat/completions v1/rerank tokenize pooling",
    "v1/load_lora_adapter v1/unload_lora_adapter sleep wake_up reset_prefix_cache collective_rpc",
  ],
  "llama-cpp": [
    "v1/chat/completions completion infill reranking",
    "props slots/0 lora-adapters models/load models/unload",
  ],
  "lm-studio": [
    "v1/chat/completions api/v0/chat/completions",
    "api/v1/models/load api/v1/models/download",
  ],
};

describe("an inference", () => {
  it.each(Object.entries(known))("of %s is told from what is kept there", (slug, [yes, no]) => {
    for (const rest of yes.split(" "))
      expect([rest, asks("POST", slug, rest)]).toEqual([rest, true]);
    for (const rest of no.split(" "))
      expect([rest, asks("POST", slug, rest)]).toEqual([rest, false]);
    for (const method of ["GET", "HEAD", "OPTIONS", "DELETE", "PUT", "PATCH", "post"])
      for (const rest of `${yes} ${no}`.split(" "))
        expect([method, rest, asks(method, slug, rest)]).toEqual([method, rest, false]);
  });

  it("is known of every provider, and of one without a list in OpenAI's and Anthropic's words only", () => {
    expect(Object.keys(known).toSorted()).toEqual(Object.keys(providers).toSorted());
    expect([...listedProviders].filter((slug) => !Object.hasOwn(providers, slug))).toEqual([]);
    for (const slug of ["custom-acme", "custom-acme.2"]) {
      expect(asks("POST", slug, "v1/chat/completions")).toBe(true);
      expect(asks("POST", slug, "messages")).toBe(true);
      for (const rest of ["v1/predict", "v1/files", "api/chat", "x/chat/completions"])
        expect(asks("POST", slug, rest)).toBe(false);
    }
  });

  it("opens a WebSocket where it is one, and by no other method", () => {
    for (const [slug, rest] of [
      ["openai", "v1/realtime"],
      [
        "google-ai-studio",
        "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
      ],
      ["deepgram", "v1/listen"],
      ["elevenlabs", "v1/text-to-speech/v/stream-input"],
      ["cartesia", "tts/websocket"],
      ["fal", "fal-ai/flux/realtime"],
      ["workers-ai", "run/@cf/deepgram/nova-3"],
    ] as const) {
      expect([slug, asks("GET", slug, rest, true)]).toEqual([slug, true]);
      expect([slug, asks("GET", slug, rest)]).toEqual([slug, false]);
    }
    for (const [slug, rest] of [
      ["openai", "v1/responses"],
      ["openai", "v1/files"],
      ["elevenlabs", "v1/convai/conversation"],
      ["anthropic", "v1/messages"],
      ["custom-acme", "realtime"],
    ] as const)
      expect([slug, asks("GET", slug, rest, true)]).toEqual([slug, false]);
  });

  it("is one however its version is written, and not behind another host, letter case or doubled slash", () => {
    expect(plainPath("v1beta/models")).toBe("models");
    for (const rest of ["/v1/chat/completions", "v1//chat/completions", "V1/chat/completions"])
      expect([rest, asks("POST", "openai", rest)]).toEqual([rest, false]);
    for (const rest of [
      "v1/Chat/completions",
      "chat/completions/",
      "chat/completions/x",
      "x/v1/responses",
    ])
      expect([rest, asks("POST", "openai", rest)]).toEqual([rest, false]);
    const queue = { slug: "fal", method: "POST", path: "fal-ai/flux" };
    expect(isInference(queue)).toBe(true);
    expect(isInference({ ...queue, origin: "https://fal.run" })).toBe(true);
    expect(isInference({ ...queue, origin: "https://queue.fal.run" })).toBe(false);
    expect(
      isInference({ slug: "openai", method: "POST", path: "responses", origin: "https://x.test" }),
    ).toBe(false);
  });
});
