import { asObject, jsonObject, jsonObjects, jsonText } from "../../../http/json.ts";
import type { AddUsage } from "../../providers/usage.ts";

/** Models that one answer can name. */
const MOST = 16;

/**
 * Adds to a usage the models that an answer says it comes from: with a model to fall back on, that may be another one than
 * was asked.
 */
export function addingModels(add: AddUsage): AddUsage {
  return (usage, message) => {
    const sum = add(usage, message);
    const known = new Set([...(usage.models ?? []), ...modelsIn(message)]);
    return known.size === 0 ? sum : { ...sum, models: [...known].slice(0, MOST) };
  };
}

/** Reads the models that an answer, an event of a stream, or Anthropic's attempts in `usage` name. */
function modelsIn(message: unknown): string[] {
  const root = asObject(message);
  if (root === null) return [];
  const { model, modelVersion, message: inner, response, usage } = root;
  const attempts = [usage, jsonObject(inner)["usage"]].flatMap((one) =>
    jsonObjects(jsonObject(one)["iterations"]),
  );
  const named = [
    model,
    modelVersion,
    jsonObject(inner)["model"],
    jsonObject(response)["model"],
    ...attempts.map((attempt) => attempt["model"]),
  ];
  return named.map((name) => jsonText(name).slice(0, 256)).filter((name) => name !== "");
}
