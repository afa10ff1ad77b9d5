import { jsonBody } from "../../wire/readable-body.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { Json } from "../../../http/json.ts";
import type { CloudSecret } from "../../account/settings/provider-options.ts";
import type { Step } from "../../call/call.ts";
import { asksForStream, type ChatFormat, modelOfChat, readChatBody } from "../../chat/chat-body.ts";
import { fitChatBody } from "../../models/fit-chat.ts";
import { modelRules } from "../../models/model-rules.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { modelForm } from "../../wire/multipart.ts";
import { isMultipart } from "../../../http/fields/read-form.ts";
import { isUnifiedTask, type UnifiedTask } from "../known/unified-tasks.ts";
import type { Cloud } from "../known/provider.ts";
import { cloudOf } from "./cloud-settings.ts";
import { embeddingRequest } from "./embed-texts.ts";
import { readServiceAccount } from "./service-account.ts";

/** Settings of a cloud, with the base URL in place of its own address. */
export interface PlaceSettings extends CloudSecret {
  readonly baseUrl?: string | undefined;
}

interface CloudRequest<Format = ChatFormat | UnifiedTask> {
  readonly format: Format;
  readonly model: string;
  readonly body: Json;
  readonly headers: Step["headers"];
}

type CloudChat = CloudRequest<ChatFormat>;

type Placed = Pick<Step, "rest" | "query"> & { readonly body: Json };

/** The versions of Anthropic's format that the clouds want in the body (Anthropic's SDKs for Bedrock and Vertex AI). */
const VERTEX_VERSION = "vertex-2023-10-16";
const BEDROCK_VERSION = "bedrock-2023-05-31";

/**
 * Returns a request for a model of a cloud with its address there. Messages for Claude models become what the cloud takes of
 * them. Throws `chat_format` where the settings do not say where the model is.
 */
export function placedInCloud(
  step: Step,
  format: ChatFormat | UnifiedTask,
  settings: PlaceSettings,
): Step {
  const type = headerValue(step.headers, "content-type") ?? "";
  const form =
    isMultipart(type) && step.body instanceof Uint8Array ? modelForm(step.body, type) : null;
  const body: Json = form === null ? readChatBody(step) : { model: form.model };
  const request = { format, model: modelOfChat(body), body, headers: step.headers };
  const where = placeIn(cloudOf(step.slug) ?? "bedrock", request, settings);
  if (form !== null) return { ...step, rest: where.rest, query: where.query };
  const { chat: fitted, dropped } =
    format === "chat/completions" && isOpenAis(where.rest)
      ? fitChatBody(where.body, modelRules(step.slug, request.model))
      : { chat: where.body, dropped: [] };
  return { ...step, ...where, ...jsonBody(fitted), dropped };
}

function placeIn(cloud: Cloud, request: CloudRequest, settings: PlaceSettings): Placed {
  if (cloud === "azure") return atAzure(request, settings);
  const { format } = request;
  if (isUnifiedTask(format)) return taskPlace(cloud, { ...request, format }, settings);
  return cloud === "vertex"
    ? atVertex({ ...request, format }, settings)
    : atBedrock({ ...request, format }, settings);
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
function atAzure({ format, model, body }: CloudRequest, settings: PlaceSettings): Placed {
  const { resource, apiVersion, baseUrl } = settings;
  const path = format === "messages" ? "chat/completions" : format;
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
  const { place, model } = vertexPlace(chat, settings);
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

function vertexPlace(
  { model: named }: CloudRequest,
  settings: PlaceSettings,
): { readonly place: string; readonly model: string } {
  const { serviceAccount, region = "global" } = settings;
  const project =
    settings.project ??
    (serviceAccount === undefined ? undefined : readServiceAccount(serviceAccount)?.project);
  if (project === undefined)
    throw noPlace(
      '"google-vertex-ai" needs a project: configure its "project" or "serviceAccount"',
    );
  const model = named.replace(/^(?:google|anthropic)\//, "");
  if (!/^[\w.@/-]{1,256}$/.test(model)) throw noPlace(`"${model.slice(0, 64)}" is not a model`);
  return { place: `v1/projects/${project}/locations/${region}`, model };
}

function bedrockPlace({ region, baseUrl }: PlaceSettings): string {
  if (region === undefined && baseUrl === undefined)
    throw noPlace('"aws-bedrock" needs a region: configure its "region"');
  return baseUrl === undefined ? `bedrock-runtime/${region}/` : "";
}

/** Other requests than chats: texts to embed keep OpenAI's format until they leave. */
function taskPlace(
  cloud: "bedrock" | "vertex",
  request: CloudRequest<UnifiedTask>,
  settings: PlaceSettings,
): Placed {
  const { body, format } = request;
  if (cloud === "vertex") {
    const { place, model } = vertexPlace(request, settings);
    const { method } = embeddingRequest(body, cloud, model).models;
    return { rest: `${place}/publishers/google/models/${model}:${method}`, query: "", body };
  }
  const place = bedrockPlace(settings);
  const { model, ...rest } = { ...body, model: request.model };
  if (!/^[\w.:/-]{1,512}$/.test(model)) throw noPlace(`"${model.slice(0, 64)}" is not a model`);
  const placed = { rest: `${place}model/${encodeURIComponent(model)}/invoke`, query: "" };
  if (format === "rerank") return { ...placed, body: rerankBody(rest, model) };
  embeddingRequest(body, cloud, model);
  return { ...placed, body };
}

/** https://docs.cohere.com/docs/amazon-bedrock: `api_version` is needed there. Amazon's model takes the rest of it, too. */
function rerankBody(given: Json, model: string): Json {
  if (model.includes("cohere.rerank")) return { ...given, api_version: 2 };
  if (model.includes("amazon.rerank")) return given;
  throw noPlace(`"${model.slice(0, 64)}" is no model here that ranks texts`);
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-anthropic-claude-messages.html */
function atBedrock(chat: CloudChat, settings: PlaceSettings): Placed {
  const place = bedrockPlace(settings);
  const { model, body } = chat;
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
