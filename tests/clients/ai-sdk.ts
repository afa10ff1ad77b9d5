import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, type LanguageModel, streamText, tool } from "ai";
import {
  type AiGatewayOptions,
  type AiGatewaySettings,
  createAiGateway,
} from "ai-gateway-provider";
import { createOpenAI as createOpenAIWithStoredKey } from "ai-gateway-provider/providers/openai";
import { createUnified } from "ai-gateway-provider/providers/unified";

type Model = Exclude<LanguageModel, string> & { readonly specificationVersion: "v4" };

/** A question to the AI SDK, as JSON. */
export interface Asked {
  /** Tried in turn, each `{provider}:{model}`. */
  readonly models: readonly string[];
  readonly stream?: boolean;
  readonly tools?: boolean;
  /** What `createAiGateway()` takes. */
  readonly options?: AiGatewayOptions;
  /** The id of the gateway. */
  readonly gateway: string;
  /** Headers that the models send to their provider. */
  readonly headers: Readonly<Record<string, string>>;
  /** Leaves the stream after its first text. */
  readonly abort?: boolean;
}

/** What came of it, as JSON. */
export interface Outcome {
  readonly text?: string;
  readonly parts?: readonly string[];
  readonly tokens?: readonly [number | undefined, number | undefined];
  readonly model?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly error?: {
    readonly name: string;
    readonly message: string;
    readonly status?: number;
    /** The message of the error at the root. */
    readonly root: string;
  };
}

const models: Readonly<Record<string, (model: string) => Model>> = {
  chat: (model) => createOpenAI({ apiKey: "sk-provider" }).chat(model),
  responses: (model) => createOpenAI({ apiKey: "sk-provider" }).responses(model),
  anthropic: (model) => createAnthropic({ apiKey: "sk-ant" })(model),
  gemini: (model) => createGoogleGenerativeAI({ apiKey: "sk-google" })(model),
  "stored-key": (model) => createOpenAIWithStoredKey({}).chat(model),
  "dead-host": (model) => compatible("deepseek", "https://api.deepseek.com", model),
  groq: (model) => compatible("groq", "https://api.groq.com/openai/v1", model),
  unified: (model) => createUnified({ includeUsage: true })(model),
};

function compatible(name: string, baseURL: string, model: string): Model {
  const provider = createOpenAICompatible({ name, baseURL, apiKey: "sk-it", includeUsage: true });
  return provider(model);
}

const weather = tool({
  description: "The weather of a city",
  inputSchema: jsonSchema<{ city: string }>({
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
  }),
  execute: ({ city }) => `Sunny in ${city}`,
});

/** Asks by way of `ai` and `ai-gateway-provider`, both as they are. */
export async function askAiSdk(settings: AiGatewaySettings, asked: Asked): Promise<Outcome> {
  const gateway = createAiGateway({
    ...settings,
    ...(asked.options && { options: asked.options }),
  });
  const chosen = asked.models.map((name): Model => {
    const [kind = "", model = ""] = name.split(":");
    const make = models[kind];
    if (make === undefined) throw new Error(`No model kind "${kind}"`);
    return make(model);
  });
  const question = {
    model: gateway(chosen),
    prompt: "Is anybody there?",
    headers: { ...asked.headers },
    maxRetries: 0,
    maxOutputTokens: 64,
    ...(asked.tools && { tools: { weather }, stopWhen: isStepCount(2) }),
  };
  try {
    return await (asked.stream ? streamed(question, asked.abort) : generated(question));
  } catch (thrown) {
    return { error: described(thrown) };
  }
}

type Question = Parameters<typeof generateText>[0];

async function generated(question: Question): Promise<Outcome> {
  const { text, totalUsage, response } = await generateText(question);
  return {
    text,
    tokens: [totalUsage.inputTokens, totalUsage.outputTokens],
    model: response.modelId,
    headers: response.headers ?? {},
  };
}

async function streamed(question: Question, abort = false): Promise<Outcome> {
  const leave = new AbortController();
  let failure: unknown;
  const result = streamText({
    ...question,
    abortSignal: leave.signal,
    onError: ({ error }) => {
      failure = error;
    },
  });
  const parts: string[] = [];
  for await (const part of result.textStream) {
    parts.push(part);
    if (abort) leave.abort();
  }
  if (failure !== undefined) throw failure;
  if (abort) return { parts };
  const { inputTokens, outputTokens } = await result.totalUsage;
  const { modelId, headers = {} } = await result.response;
  return {
    text: parts.join(""),
    parts,
    tokens: [inputTokens, outputTokens],
    model: modelId,
    headers,
  };
}

/** Errors of the provider package keep the name "Error": their class tells them apart. */
function described(thrown: unknown): NonNullable<Outcome["error"]> {
  if (!(thrown instanceof Error)) {
    return { name: typeof thrown, message: String(thrown), root: String(thrown) };
  }
  let root = thrown;
  while (root.cause instanceof Error) root = root.cause;
  const status = "statusCode" in thrown ? { status: Number(thrown.statusCode) } : {};
  const name = thrown.name === "Error" ? thrown.constructor.name : thrown.name;
  return { name, message: thrown.message, root: root.message, ...status };
}
