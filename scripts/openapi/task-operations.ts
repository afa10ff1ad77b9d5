import type { UnifiedTask } from "../../core/gateway/providers/known/unified-tasks.ts";
import type { Operation, Operations } from "./operation.ts";

/** Other requests than chats, in the formats of OpenAI's API; reranking in Cohere's. */
const tasks: Readonly<Record<UnifiedTask, Operation>> = {
  embeddings: {
    summary: "Make vectors of texts: the model is provider/model",
    example: { model: "openai/text-embedding-3-small", input: "Hello" },
  },
  completions: {
    summary: "Complete a text: the model is provider/model",
    example: { model: "openai/gpt-3.5-turbo-instruct", prompt: "Hello" },
  },
  "responses/compact": {
    summary: "Shorten a conversation: the model is provider/model",
    example: { model: "openai/gpt-5.5", input: "Hello" },
  },
  "responses/input_tokens": {
    summary: "Count the tokens of a response's input: the model is provider/model",
    example: { model: "openai/gpt-5.5", input: "Hello" },
  },
  "images/generations": {
    summary: "Make pictures: the model is provider/model",
    example: { model: "openai/gpt-image-2", prompt: "A lighthouse" },
  },
  "images/edits": {
    summary: "Change pictures: the model is provider/model, in JSON or in a form",
    freeBody: "form",
  },
  "audio/speech": {
    summary: "Speak a text: the model is provider/model",
    answer: "binary",
    example: { model: "groq/playai-tts", voice: "alloy", input: "Hello" },
  },
  "audio/transcriptions": {
    summary: "Write down a sound: the form's model is provider/model",
    freeBody: "form",
  },
  "audio/translations": {
    summary: "Write down a sound in English: the form's model is provider/model",
    freeBody: "form",
  },
  moderations: {
    summary: "Judge texts and pictures: the model is provider/model",
    example: { model: "openai/omni-moderation-latest", input: "Hello" },
  },
  rerank: {
    summary: "Order texts by a question, in Cohere's format: the model is provider/model",
    example: { model: "cohere/rerank-v3.5", query: "Hello", documents: ["Hi", "Bye"] },
  },
};

/** The same as operations, by path. */
export const taskOperations: Operations = Object.fromEntries(
  Object.entries(tasks).map(([path, operation]) => [
    `POST /${path}`,
    { freeBody: "json", answer: "json", ...operation },
  ]),
);
