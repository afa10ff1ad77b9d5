import { type Json, jsonObject, jsonObjects } from "../../../http/json.ts";
import { tokenCount } from "../../chat/usage.ts";

export interface EmbeddingQuestion {
  readonly texts: readonly string[];
  readonly dimensions: number | undefined;
  /** The use of the vectors, in the provider's own word. */
  readonly purpose: string | undefined;
}

/** An answer of a model, as far as it is read. */
export interface EmbeddingAnswer {
  readonly vectors: readonly unknown[];
  readonly tokens: number | null;
}

/** Models that are asked for vectors in the same way. */
export interface EmbeddingModels {
  readonly names: RegExp;
  /** Texts that one request takes. */
  readonly perRequest: number;
  /** The members of a question that its models refuse. @default nothing */
  readonly refuses?: readonly ("dimensions" | "input_type")[];
  /** The method behind the model's address. */
  readonly method: string;
  /** Returns the body of a request; texts are at least one. */
  body(question: EmbeddingQuestion): Json;
  read(answer: Json): EmbeddingAnswer;
}

/** Nothing of a body is sent that was not asked for. */
function given(members: Readonly<Record<string, unknown>>): Json {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html */
const titan: Omit<EmbeddingModels, "names"> = {
  perRequest: 1,
  refuses: ["input_type"],
  method: "invoke",
  body: ({ texts, dimensions }) => given({ inputText: texts[0], dimensions }),
  read: ({ embedding, inputTextTokenCount }) => ({
    vectors: [embedding],
    tokens: tokenCount(inputTextTokenCount),
  }),
};

/** Bedrock tells the tokens of these models in a header alone. */
function untold(vectors: readonly unknown[]): EmbeddingAnswer {
  return { vectors, tokens: null };
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-embed.html */
const cohere: Omit<EmbeddingModels, "names"> = {
  perRequest: 96,
  method: "invoke",
  body: ({ texts, dimensions, purpose = "search_document" }) =>
    given({
      texts,
      input_type: purpose,
      embedding_types: ["float"],
      output_dimension: dimensions,
    }),
  read({ embeddings }) {
    const vectors = Array.isArray(embeddings) ? embeddings : jsonObject(embeddings)["float"];
    return untold(Array.isArray(vectors) ? vectors : []);
  },
};

const bedrock: readonly EmbeddingModels[] = [
  { names: /amazon\.titan-embed-text-v2/, ...titan },
  {
    names: /amazon\.titan-embed-(?:text-v1|g1-text)/,
    ...titan,
    refuses: ["dimensions", "input_type"],
  },
  { names: /cohere\.embed-v4/, ...cohere },
  { names: /cohere\.embed-(?:english|multilingual)-v3/, ...cohere, refuses: ["dimensions"] },
  {
    // https://docs.aws.amazon.com/nova/latest/userguide/embeddings-schema.html
    names: /amazon\.nova-[\w-]*embeddings/,
    perRequest: 1,
    method: "invoke",
    body: ({ texts, dimensions, purpose = "GENERIC_INDEX" }) => ({
      taskType: "SINGLE_EMBEDDING",
      singleEmbeddingParams: given({
        embeddingPurpose: purpose,
        embeddingDimension: dimensions,
        text: { truncationMode: "NONE", value: texts[0] },
      }),
    }),
    read: ({ embeddings }) => untold(jsonObjects(embeddings).map((one) => one["embedding"])),
  },
];

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api */
const predicting: Omit<EmbeddingModels, "names" | "perRequest"> = {
  method: "predict",
  body: ({ texts, dimensions, purpose }) => ({
    instances: texts.map((content) => given({ content, task_type: purpose })),
    // A text that is too long is refused, as OpenAI does it.
    parameters: given({ autoTruncate: false, outputDimensionality: dimensions }),
  }),
  read({ predictions }) {
    const found = jsonObjects(predictions).map((one) => jsonObject(one["embeddings"]));
    const counts = found.map((one) => tokenCount(jsonObject(one["statistics"])["token_count"]));
    const tokens = counts.reduce<number | null>(
      (sum, one) => (sum === null || one === null ? null : sum + one),
      0,
    );
    return { vectors: found.map((one) => one["values"]), tokens };
  },
};

const vertex: readonly EmbeddingModels[] = [
  { names: /^gemini-embedding-001$/, perRequest: 1, ...predicting },
  {
    // https://docs.cloud.google.com/vertex-ai/docs/reference/rest/v1/projects.locations.publishers.models/embedContent
    names: /^gemini-embedding-/,
    perRequest: 1,
    method: "embedContent",
    body: ({ texts, dimensions, purpose }) =>
      given({
        content: { parts: [{ text: texts[0] }] },
        taskType: purpose,
        outputDimensionality: dimensions,
      }),
    read: ({ embedding, usageMetadata }) => ({
      vectors: [jsonObject(embedding)["values"]],
      tokens: tokenCount(jsonObject(usageMetadata)["promptTokenCount"]),
    }),
  },
  // A request takes 20,000 tokens, and a text has 2,048 at the most.
  { names: /^text-(?:multilingual-)?embedding-/, perRequest: 9, ...predicting },
];

/** Returns how a model of a cloud is asked for vectors; undefined for other models. */
export function embeddingModels(
  cloud: "bedrock" | "vertex",
  model: string,
): EmbeddingModels | undefined {
  return (cloud === "bedrock" ? bedrock : vertex).find(({ names }) => names.test(model));
}
