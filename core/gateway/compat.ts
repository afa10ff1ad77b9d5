import { utf8 } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";
import { parseJson } from "../http/body.ts";
import type { Step } from "./call.ts";
import { ECHO, providers } from "./providers.ts";

/** What a model begins with that names a dynamic route. */
const DYNAMIC = "dynamic/";

/**
 * The step that a unified request stands for: `model` is `{provider}/{model}`, the rest is an OpenAI chat
 * request. Throws `chat_format` (2019) when the model names no provider that takes one.
 */
export function compatStep(step: Step): Step {
  if (step.rest.replace(/^v1\//, "") !== "chat/completions") {
    throw new ApiError("invalid_request", {
      message: 'The unified endpoint has "compat/chat/completions" only',
    });
  }
  const body = chatBody(step.body);
  const model = typeof body["model"] === "string" ? body["model"] : "";
  if (model.startsWith(DYNAMIC)) {
    return {
      ...step,
      slug: "dynamic",
      rest: "chat/completions",
      route: model.slice(DYNAMIC.length),
    };
  }
  const slash = model.indexOf("/");
  const slug = model.slice(0, Math.max(0, slash));
  const rest = chatPath(slug);
  if (slash < 1 || slash === model.length - 1 || rest === null) {
    throw new ApiError("chat_format", {
      message: `Chat completion bad format: model must be "{provider}/{model}", got "${model.slice(0, 128)}"`,
    });
  }
  return {
    ...step,
    slug,
    rest,
    body: utf8(JSON.stringify({ ...body, model: model.slice(slash + 1) })),
  };
}

/** Where a provider takes OpenAI chat requests; null when it does not. */
function chatPath(slug: string): string | null {
  if (slug === ECHO || slug.startsWith("custom-")) return "chat/completions";
  return Object.hasOwn(providers, slug) ? (providers[slug]?.openaiChat ?? null) : null;
}

/** The JSON object in a body; throws `chat_format` for anything else. */
export function chatBody(body: Step["body"]): Record<string, unknown> {
  if (body instanceof Uint8Array) {
    const value = parseJson(body, "chat_format");
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>;
  }
  throw new ApiError("chat_format", {
    message: "Chat completion bad format: a JSON object of at most 10 MB is needed",
  });
}
