import { modelName } from "./log/log-row.ts";

/** A body whose first member is the model, as the official clients write it. */
const MODEL_FIRST = /^\s*\{\s*"model"\s*:\s*"([^"\\]{0,256})"\s*[,}]/;

/** Whether a body of this type can name a model. */
export function isJsonType(contentType: string): boolean {
  return /json/i.test(contentType);
}

/** What stands behind a deployment in the paths of Azure, which the gateway takes without `openai/deployments/`. */
const DEPLOYMENT =
  /(?:^|\/)(?!v1\/|chat\/completions(?:\/|$))([^/]+)\/(?:chat\/completions|completions|embeddings|images|audio)(?:\/|$)/;

/**
 * The model that a request to a provider (`slug`) names: in its JSON body, else in its path. Null for a body that is no JSON.
 * Most bodies need no parsing for it, and parsing a long conversation costs more than all the rest of its log row.
 */
export function requestModel(body: string | null, path: string, slug: string): string {
  const named = body === null ? null : namedFirst(body);
  return named ?? modelName(parsed(body), spelledOut(path, slug));
}

/** A path of a provider, in the manner of the others. */
function spelledOut(path: string, slug: string): string {
  if (slug === "azure-openai" && !path.includes("deployments/"))
    return path.replace(DEPLOYMENT, "/deployments/$1/");
  // Amazon's clients escape the colon before a model's revision.
  return slug === "aws-bedrock" ? path.replace(/%3A(?=\d{1,4}\/)/i, ":") : path;
}

/** The model of a body that names it first and, spelled out or escaped, nowhere again: the last one would count. */
function namedFirst(body: string): string | null {
  const found = MODEL_FIRST.exec(body);
  if (found === null) return null;
  const end = found[0].length;
  // Engines stop at each first character of what they look for, and prose and code hold more quotes than letters "m".
  // Each letter of the name, if escaped, begins with \u006.
  const isNamedAgain = body.includes('model"', end) || body.includes("\\u006", end);
  return isNamedAgain ? null : (found[1] ?? null);
}

function parsed(body: string | null): unknown {
  try {
    return body === null ? null : JSON.parse(body);
  } catch {
    return null;
  }
}
