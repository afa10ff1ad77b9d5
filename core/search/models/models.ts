import { ApiError } from "../../http/api-error.ts";
import type { SearchOptions } from "./search-deps.ts";

/** Returns the names of the models that these options stand for. */
export function modelNames(options: SearchOptions): ModelNames {
  const { chatModel } = options;
  return {
    embedder: options.embedder?.model ?? null,
    chat: chatModel === undefined ? EXTRACTIVE_MODEL : (chatModel.model ?? "default"),
    reranker: options.reranker?.model ?? null,
    readsPictures: options.ocr !== undefined,
  };
}

/** The names of this installation's models. */
export interface ModelNames {
  /** The configured embedder's; null = builtin only. */
  readonly embedder: string | null;
  readonly chat: string;
  /** The configured reranker's; null = builtin only. */
  readonly reranker: string | null;
  /** Whether something reads pictures. */
  readonly readsPictures: boolean;
}

/** The name under which quoted answers are reported: no model wrote them. */
export const EXTRACTIVE_MODEL: string = "builtin/extractive";

/** The name of the reranker that needs no model. */
export const LEXICAL_RERANKER: string = "builtin/lexical-reranker";

/** The only name that the hosted API takes: here it means the configured reranker. */
const HOSTED_RERANKER = "@cf/baai/bge-reranker-base";

/** Throws 7010 for the name of a reranker that is not here. */
export function checkReranker(name: string, configured: string | null): void {
  const known = configured === null ? [LEXICAL_RERANKER] : [LEXICAL_RERANKER, configured];
  if (["", HOSTED_RERANKER, ...known].includes(name)) return;
  throw new ApiError("invalid_model", {
    message: `invalid_model: reranking model "${name.slice(0, 64)}" is not configured here; use ${known.map((one) => `"${one}"`).join(" or ")}`,
  });
}

/** Makes the error for a setting that needs rewritten queries where no chat model is configured. */
export function noRewriting(setting: string): ApiError {
  return new ApiError("invalid_model", {
    message: `invalid_model: ${setting}: no chat model is configured to rewrite queries`,
  });
}

/** Makes the error for the name of a chat model where none is configured. */
export function noChatModel(name: string): ApiError {
  return new ApiError("invalid_model", {
    message: `invalid_model: no chat model is configured, so "${name.slice(0, 64)}" cannot answer; use "${EXTRACTIVE_MODEL}"`,
  });
}
