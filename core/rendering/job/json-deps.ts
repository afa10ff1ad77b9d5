import { fairSlots } from "../../work/fair-slots.ts";
import { tooManyRenderings } from "../input/errors.ts";
import type { RenderingOptions } from "./options.ts";
import type { JsonDeps } from "../json/ask-json.ts";

/** Requests to models at a time. */
const ASKING = 16;

/** Takes from the operator's options what asking a model needs. */
export function jsonDeps(options: RenderingOptions): JsonDeps {
  const { system } = options.platform;
  return {
    model: options.chatModel,
    modelOf: options.customModel,
    system,
    modelMs: options.chatTimeoutMs ?? 60_000,
    slots: fairSlots({
      running: ASKING,
      waiting: options.maxQueue ?? 20,
      refuse: tooManyRenderings,
    }),
  };
}
