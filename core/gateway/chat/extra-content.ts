import * as v from "valibot";
import type { ExtraContent } from "./chat-format.ts";

/** Checks what clients bring back with a tool call that Gemini made, in whatever format they speak. */
export const extraContent: v.GenericSchema<unknown, ExtraContent | null | undefined> = v.nullish(
  v.looseObject({
    google: v.nullish(v.looseObject({ thought_signature: v.nullish(v.string()) })),
  }),
);
