import { sha256Hex } from "../../crypto/digest.ts";
import type { Instance } from "../actor/instance-client.ts";
import type { InstanceSettings } from "../state/instance-settings.ts";
import type { SearchOptions } from "../models/search-deps.ts";
import { type ChatBody, textOf } from "../state/search-schema.ts";
import type { Answer, AnswerDelta, Answerer } from "../retrieve/answerer.ts";
import type { ChatInput } from "./chat.ts";
import { extractiveAnswerer } from "./extractive.ts";
import { estimatedUsage } from "./model-answerer.ts";

/** Whether an answer was given before. */
export type CacheStatus = "HIT" | "MISS";

/** Seconds that an answer is kept when the instance does not say. */
const TTL_S = 172_800;

/** The chat whose answer may be kept, and the instance that keeps it. */
export interface CacheInputs {
  readonly instance: Instance;
  readonly input: ChatInput;
  readonly asked: { readonly body: ChatBody; readonly settings: InstanceSettings };
  readonly deps: SearchOptions;
}

/**
 * Chooses between an answer given before to a similar enough question, and the model, whose answer is then cached. A cached
 * answer is bound to everything but the wording of the question: the very texts that were found for it, the filters, the
 * model and its parameters, and the conversation before. So no answer outlives a change of its sources.
 */
export async function cachedAnswerer(
  answerer: Answerer,
  { instance, input, asked: { body, settings }, deps: { platform } }: CacheInputs,
): Promise<{ readonly answerer: Answerer; readonly cacheStatus: CacheStatus | null }> {
  const asked = body.ai_search_options?.cache;
  const isOn = asked?.enabled ?? settings.cache === true;
  // The builtin model gives the same answer anyway; calls of tools are not answers.
  const isFit =
    input.chunks.length > 0 && answerer !== extractiveAnswerer && !("tools" in input.parameters);
  if (!isOn || !isFit) return { answerer, cacheStatus: null };
  const question = lastQuestion(input);
  const context = await contextOf(input, body);
  const threshold = asked?.cache_threshold ?? settings.cache_threshold ?? "super_strict_match";
  const known = await instance.cachedAnswer(context, question, threshold);
  if (known !== null) return { answerer: replay(known), cacheStatus: "HIT" };
  const ttl = settings.cache_ttl ?? TTL_S;
  const keep = async (answer: Answer): Promise<void> => {
    if (answer.finishReason !== "stop" || answer.content === "" || answer.refusal !== null) return;
    try {
      await instance.keepAnswer(context, question, answer, ttl * 1000);
    } catch (error) {
      // It is an answer all the same.
      platform.log("warn", "An answer could not be kept", { error: String(error) });
    }
  };
  return { answerer: keeping(answerer, keep), cacheStatus: "MISS" };
}

function lastQuestion({ messages, query }: ChatInput): string {
  const last = messages.findLast((one) => one.role === "user");
  return last === undefined ? query : textOf(last);
}

/** Hashes all that an answer depends on beside the wording of the question. */
function contextOf(
  { chunks, messages, model, parameters }: ChatInput,
  body: ChatBody,
): Promise<string> {
  const last = messages.findLastIndex((one) => one.role === "user");
  const others = messages.map((one, at) => (at === last ? { ...one, content: kindsOf(one) } : one));
  const found = chunks.map(({ item, text }) => [item.key, text]);
  const filters = body.ai_search_options?.retrieval?.filters ?? null;
  return sha256Hex(JSON.stringify([model, parameters, others, filters, found]));
}

/** Returns the parts of a question other than text, e.g. pictures. */
function kindsOf({ content }: ChatInput["messages"][number]): unknown {
  return Array.isArray(content) ? content.filter((part) => part.type !== "text") : null;
}

function replay(answer: Answer): Answerer {
  return {
    complete: () => Promise.resolve(answer),
    async *stream(): AsyncGenerator<AnswerDelta> {
      await Promise.resolve();
      yield { content: answer.content, finishReason: null };
      yield { content: "", finishReason: answer.finishReason, usage: answer.usage };
    },
  };
}

function keeping(answerer: Answerer, keep: (answer: Answer) => Promise<void>): Answerer {
  return {
    async complete(question, signal) {
      const answer = await answerer.complete(question, signal);
      await keep(answer);
      return answer;
    },
    async *stream(question, signal): AsyncGenerator<AnswerDelta> {
      let content = "";
      let finishReason = "stop";
      let usage: Answer["usage"] | null = null;
      for await (const delta of answerer.stream(question, signal)) {
        content += delta.content;
        finishReason = delta.finishReason ?? finishReason;
        usage = delta.usage ?? usage;
        yield delta;
      }
      // Only here has the model said that it is done.
      usage ??= estimatedUsage(question, content);
      await keep({ content, refusal: null, finishReason, usage });
    },
  };
}
