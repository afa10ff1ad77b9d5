import { utf8 } from "../../../crypto/encoding.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Json } from "../../../http/json.ts";
import type { CloudSecret } from "../../account/settings/provider-options.ts";
import type { Step } from "../../call/call.ts";
import { asksForStream, type ChatFormat, modelOfChat, readChatBody } from "../../chat/chat-body.ts";
import { fitChatBody } from "../../models/fit-chat.ts";
import { modelRules } from "../../models/model-rules.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { cloudOf } from "./cloud-settings.ts";
import { readServiceAccount } from "./service-account.ts";

/** Settings of a cloud, with the base URL in place of its own address. */
export interface PlaceSettings extends CloudSecret {
  readonly baseUrl?: string | undefined;
}

/** A chat on its way to a cloud. */
interface CloudChat {
  readonly format: ChatFormat;
  readonly model: string;
  readonly body: Json;
  readonly headers: Step["headers"];
}

type Placed = Pick<Step, "rest" | "query"> & { readonly body: Json };

/** The versions of Anthropic's format that the clouds want in the body (Anthropic's SDKs for Bedrock and Vertex AI). */
const VERTEX_VERSION = "vertex-2023-10-16";
const BEDROCK_VERSION = "bedrock-2023-05-31";

/**
 * Returns a chat for a model of a cloud with its address there. Messages for Claude models become what the cloud takes of
 * them. Throws `chat_format` where the settings do not say where the model is.
 */
export function placedInCloud(step: Step, format: ChatFormat, settings: PlaceSettings): Step {
  const body = readChatBody(step.body);
  const chat: CloudChat = { format, model: modelOfChat(body), body, headers: step.headers };
  const cloud = cloudOf(step.slug);
  const where =
    cloud === "azure"
      ? atAzure(chat, settings)
      : cloud === "vertex"
        ? atVertex(chat, settings)
        : atBedrock(chat, settings);
  const { chat: fitted, dropped } =
    format === "chat/completions" && isOpenAis(where.rest)
      ? fitChatBody(where.body, modelRules(step.slug, chat.model))
      : { chat: where.body, dropped: [] };
  return { ...step, ...where, body: utf8(JSON.stringify(fitted)), dropped };
}

function noPlace(problem: string): ApiError {
  return new ApiError("chat_format", { message: `Chat completion bad format: ${problem}` });
}

/** Whether OpenAI's chats are taken at a path as they are. */
function isOpenAis(rest: string): boolean {
  return rest.endsWith("chat/completions");
}

/**
 * https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle: the v1 API takes the deployment as the
 * model; versions of the older one have it in the path.
 */
function atAzure({ format, model, body }: CloudChat, settings: PlaceSettings): Placed {
  const { resource, apiVersion, baseUrl } = settings;
  const path = format === "responses" ? "responses" : "chat/completions";
  const query = apiVersion === undefined ? "" : `?api-version=${apiVersion}`;
  if (baseUrl !== undefined) return { rest: path, query, body };
  if (resource === undefined)
    throw noPlace(
      '"azure-openai" needs the name of a resource: configure its "resource" or "baseUrl"',
    );
  if (apiVersion === undefined) return { rest: `${resource}/openai/v1/${path}`, query, body };
  if (path === "responses") return { rest: `${resource}/openai/${path}`, query, body };
  if (!/^[\w.-]{1,64}$/.test(model)) throw noPlace(`"${model.slice(0, 64)}" is not a deployment`);
  return { rest: `${resource}/${model}/${path}`, query, body };
}

/** https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude and …/model-reference/inference */
function atVertex(chat: CloudChat, settings: PlaceSettings): Placed {
  const { serviceAccount, region = "global" } = settings;
  const project =
    settings.project ??
    (serviceAccount === undefined ? undefined : readServiceAccount(serviceAccount)?.project);
  if (project === undefined)
    throw noPlace(
      '"google-vertex-ai" needs a project: configure its "project" or "serviceAccount"',
    );
  const place = `v1/projects/${project}/locations/${region}`;
  const model = chat.model.replace(/^(?:google|anthropic)\//, "");
  if (!/^[\w.@/-]{1,256}$/.test(model)) throw noPlace(`"${model.slice(0, 64)}" is not a model`);
  const isStream = asksForStream(chat.body);
  if (model.startsWith("claude")) {
    const method = isStream ? "streamRawPredict" : "rawPredict";
    const rest = `${place}/publishers/anthropic/models/${model}:${method}`;
    return {
      rest,
      query: "",
      body: claudeBody(chat, model, { anthropic_version: VERTEX_VERSION }),
    };
  }
  if (model.includes("/"))
    return { rest: `${place}/endpoints/openapi/chat/completions`, query: "", body: chat.body };
  const method = isStream ? "streamGenerateContent" : "generateContent";
  const rest = `${place}/publishers/google/models/${model}:${method}`;
  return { rest, query: isStream ? "?alt=sse" : "", body: { ...chat.body, model } };
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
function atBedrock(chat: CloudChat, { region, baseUrl }: PlaceSettings): Placed {
  if (region === undefined && baseUrl === undefined)
    throw noPlace('"aws-bedrock" needs a region: configure its "region"');
  const { model, body } = chat;
  const place = baseUrl === undefined ? `bedrock-runtime/${region}/` : "";
  if (model.startsWith("openai."))
    return { rest: `${place}openai/v1/chat/completions`, query: "", body };
  if (!/anthropic\.|claude|^arn:/i.test(model) || !/^[\w.:/-]{1,512}$/.test(model))
    throw noPlace(
      `"aws-bedrock" takes chats for models of Anthropic and OpenAI here, not "${model.slice(0, 64)}": send Converse to its own path`,
    );
  const method = asksForStream(body) ? "invoke-with-response-stream" : "invoke";
  const betas = (headerValue(chat.headers, "anthropic-beta") ?? "").split(",");
  const named = betas.map((beta) => beta.trim()).filter((beta) => beta !== "");
  return {
    rest: `${place}model/${encodeURIComponent(model)}/${method}`,
    query: "",
    body: claudeBody(chat, model, {
      anthropic_version: BEDROCK_VERSION,
      ...(named.length === 0 ? {} : { anthropic_beta: named }),
    }),
  };
}

/** Returns the body of messages as clouds take it; chats in other formats are translated later, and name their model. */
function claudeBody({ format, body }: CloudChat, model: string, added: Json): Json {
  return format === "messages" ? claudeMessage(body, added) : { ...body, model };
}

/** Returns a message without the members that the address says; Bedrock refuses them. */
export function claudeMessage(given: Json, added: Json): Json {
  const { model: _, stream, ...rest } = given;
  const isVertex = added["anthropic_version"] === VERTEX_VERSION;
  return { ...added, ...rest, ...(isVertex && stream !== undefined ? { stream } : {}) };
}

/** Returns the members that a cloud wants in a message, by its path there. */
export function claudeMembers(rest: string): Json {
  return { anthropic_version: rest.includes("/publishers/") ? VERTEX_VERSION : BEDROCK_VERSION };
}
