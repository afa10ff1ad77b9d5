/** Words that an embedding model expects in front of a text; it was trained with them. */
export interface EmbeddingPrefixes {
  readonly query: string;
  readonly document: string;
}

const NONE: EmbeddingPrefixes = { query: "", document: "" };
const TASK = "Given a web search query, retrieve relevant passages that answer the query";
const PASSAGES = "Represent this sentence for searching relevant passages: ";

/** By the name of the model, from the model cards of its makers; the first that fits counts. */
const KNOWN: readonly (readonly [name: RegExp, prefixes: EmbeddingPrefixes])[] = [
  // https://huggingface.co/intfloat/multilingual-e5-large-instruct
  [/\be5-.*instruct/iu, { query: `Instruct: ${TASK}\nQuery: `, document: "" }],
  // https://huggingface.co/intfloat/e5-base-v2
  [/\be5-/iu, { query: "query: ", document: "passage: " }],
  // https://huggingface.co/nomic-ai/nomic-embed-text-v1.5
  [/\bnomic-embed-text/iu, { query: "search_query: ", document: "search_document: " }],
  // https://huggingface.co/Qwen/Qwen3-Embedding-0.6B
  [/\bqwen3-embedding/iu, { query: `Instruct: ${TASK}\nQuery:`, document: "" }],
  // https://huggingface.co/BAAI/bge-large-zh-v1.5
  [
    /\bbge-(?:small|base|large)-zh/iu,
    { query: "为这个句子生成表示以用于检索相关文章：", document: "" },
  ],
  // https://huggingface.co/BAAI/bge-base-en-v1.5
  [/\bbge-(?:small|base|large)(?:-en)?(?![\w-]*-zh)/iu, { query: PASSAGES, document: "" }],
  // https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1
  [/\bmxbai-embed-large/iu, { query: PASSAGES, document: "" }],
];

/** Returns the prefixes that a model is known to expect; empty ones for all others. */
export function prefixesOf(model: string): EmbeddingPrefixes {
  return KNOWN.find(([name]) => name.test(model))?.[1] ?? NONE;
}
