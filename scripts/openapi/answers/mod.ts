import * as v from "valibot";
import { gatewayAnswers } from "./gateway.ts";
import { gatewayRecordAnswers } from "./gateway-records.ts";
import { platformAnswers } from "./platform.ts";
import { renderingAnswers } from "./rendering.ts";
import { searchAnswers } from "./search.ts";
import { webhookAnswers } from "./webhooks.ts";

/**
 * The schemas of all answers, by their names in the document. Those of a type of core are checked against it by the
 * compiler, and all of them against real answers by the tests.
 */
export const answerSchemas = {
  ...platformAnswers,
  ...gatewayAnswers,
  ...gatewayRecordAnswers,
  ...renderingAnswers,
  ...searchAnswers,
  ...webhookAnswers,
  IdOnly: v.object({ id: v.string() }),
  KeyOnly: v.object({ key: v.string() }),
  Nothing: v.null(),
} satisfies Record<string, v.GenericSchema>;

/** The name of one of {@link answerSchemas}. */
export type AnswerName = keyof typeof answerSchemas;
