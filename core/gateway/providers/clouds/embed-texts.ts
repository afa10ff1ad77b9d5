import { toBase64, utf8 } from "../../../crypto/encoding.ts";
import { ApiError } from "../../../http/api-error.ts";
import type { ContentDecoding } from "../../../http/body/content-decoder.ts";
import { type Json, parsedObject } from "../../../http/json.ts";
import { joinInParts } from "../../../http/stream.ts";
import { TransportError } from "../../../net/transport-error.ts";
import type {
  HeaderPair,
  InboundResponse,
  OutboundRequest,
  System,
  Transport,
} from "../../../ports.ts";
import { wholeText } from "../../chat/translate-reply.ts";
import { tokenCount } from "../../chat/usage.ts";
import { BODY_HEADERS, headerValue } from "../../wire/header-hygiene.ts";
import { plainBody } from "../../wire/reply-body.ts";
import {
  embeddingModels,
  type EmbeddingModels,
  type EmbeddingQuestion,
} from "./embedding-models.ts";

/** A request in OpenAI's format for vectors of a model that has another one. */
export interface EmbeddingRequest extends EmbeddingQuestion {
  readonly model: string;
  readonly models: EmbeddingModels;
  /** Whether vectors are wanted as the base64 of their numbers, as OpenAI's own client asks by itself. */
  readonly isBase64: boolean;
}

/** The most texts of one request at OpenAI (https://platform.openai.com/docs/api-reference/embeddings/create). */
const MOST_TEXTS = 2048;
const MOST_DIMENSIONS = 65_536;
const known: ReadonlySet<string> = new Set(
  "model input dimensions encoding_format input_type user".split(" "),
);

/** Reads a request; throws `chat_format` for one that the model does not take, naming the member. */
export function embeddingRequest(
  body: Json,
  cloud: "bedrock" | "vertex",
  model: string,
): EmbeddingRequest {
  const models = embeddingModels(cloud, model);
  if (models === undefined)
    throw refused(`"${model.slice(0, 64)}" makes no embeddings of texts that are known here`);
  const { input, dimensions, encoding_format: format, input_type: purpose } = body;
  const other = Object.keys(body).find((name) => !known.has(name));
  const member = other ?? models.refuses?.find((name) => body[name] != null);
  if (member !== undefined)
    throw refused(`"${model.slice(0, 64)}" does not take "${member.slice(0, 64)}"`);
  if (format != null && format !== "float" && format !== "base64")
    throw refused('encoding_format: expected "float" or "base64"');
  if (purpose != null && (typeof purpose !== "string" || !/^\w{1,64}$/.test(purpose)))
    throw refused("input_type: expected a word of the provider's, such as search_query");
  return {
    model,
    models,
    texts: textsOf(input),
    dimensions: dimensions == null ? undefined : dimensionsOf(dimensions),
    purpose: purpose ?? undefined,
    isBase64: format === "base64",
  };
}

function textsOf(input: unknown): string[] {
  const texts = Array.isArray(input) ? input : [input];
  const isText = (one: unknown): one is string => typeof one === "string" && one !== "";
  if (texts.length === 0 || texts.length > MOST_TEXTS || !texts.every(isText))
    throw refused(
      `input: expected a text, or a list of 1 to ${MOST_TEXTS} texts, none of them empty. Numbers of tokens are OpenAI's alone`,
    );
  return texts;
}

function dimensionsOf(dimensions: unknown): number {
  if (
    Number.isInteger(dimensions) &&
    Number(dimensions) > 0 &&
    Number(dimensions) < MOST_DIMENSIONS
  )
    return Number(dimensions);
  throw refused("dimensions: expected a whole number above 0");
}

function refused(problem: string): ApiError {
  return new ApiError("chat_format", { message: `Embeddings bad format: ${problem}` });
}

interface EmbeddingParts {
  readonly decoding: ContentDecoding;
  readonly system: System;
}

/** Requests of one question that are under way at a time. */
const PARALLEL = 8;

/** The tokens of a request whose answer does not tell them. */
const TOKENS_HEADER = "x-amzn-bedrock-input-token-count";

/**
 * Returns a transport that asks for all texts of a request, in as many requests as its model needs, and answers in OpenAI's
 * format. The first failure is the answer, with the tokens that were used; no further request begins then. Another attempt
 * asks only for the texts that have no vector yet.
 */
export function embedding(
  via: Pick<Transport, "send">,
  asked: EmbeddingRequest,
  parts: EmbeddingParts,
): Pick<Transport, "send"> {
  const { models, texts } = asked;
  const count = Math.ceil(texts.length / models.perRequest);
  const answered = Array.from<EmbeddedTexts | undefined>({ length: count });
  let size = 0;
  return {
    async send(request) {
      const since = parts.system.now();
      const missing = [...answered.keys()].filter((index) => answered[index] === undefined);
      const failures: Failure[] = [];
      const part = async (index: number): Promise<EmbeddedTexts | Failure> => {
        try {
          const timed = within(request, parts.system.now() - since);
          return await embedPart(timed, index, { via, asked, parts });
        } catch (thrown) {
          return { thrown };
        }
      };
      const work = async (): Promise<void> => {
        for (let index = missing.shift(); index !== undefined; index = missing.shift()) {
          if (failures.length > 0 || size > MOST_BYTES) return;
          const found = await part(index);
          if ("vectors" in found) {
            answered[index] = found;
            size += found.vectors.reduce((sum, one) => sum + one.length, 0);
          } else failures.push(found);
        }
      };
      await Promise.all(Array.from({ length: Math.min(PARALLEL, missing.length) }, work));
      if (size > MOST_BYTES) throw tooLong();
      const [failure] = failures;
      if (failure === undefined) return whole(answered, asked, parts);
      if ("thrown" in failure) throw failure.thrown;
      return withUsage(failure, tokensOf(answered));
    },
  };
}

type Failure = InboundResponse | { readonly thrown: unknown };

/** Bytes of all vectors of an answer. */
const MOST_BYTES = 32 * 1024 * 1024;

function tooLong(): TransportError {
  return new TransportError("broken", "The vectors are too long together: ask for fewer texts");
}

/** All requests of a question have the time of one. */
function within(request: OutboundRequest, passed: number): OutboundRequest {
  const { beginMs } = request;
  if (beginMs === undefined) return request;
  if (passed < beginMs) return { ...request, beginMs: beginMs - passed };
  throw new TransportError("late", `No answer began within ${beginMs} ms`);
}

/** The vectors of one request, written as JSON in UTF-8, and its tokens. */
interface EmbeddedTexts {
  readonly vectors: readonly Uint8Array[];
  readonly tokens: number | null;
  readonly headers: InboundResponse["headers"];
}

/** Asks for the vectors of some texts; a failure comes as it is, its body read and plain. */
async function embedPart(
  request: OutboundRequest,
  index: number,
  {
    via,
    asked,
    parts: { decoding },
  }: { via: Pick<Transport, "send">; asked: EmbeddingRequest; parts: EmbeddingParts },
): Promise<EmbeddedTexts | InboundResponse> {
  const { models, isBase64 } = asked;
  const texts = asked.texts.slice(index * models.perRequest, (index + 1) * models.perRequest);
  const body = utf8(JSON.stringify(models.body({ ...asked, texts })));
  const kept = request.headers.filter(([name]) => name !== "content-type");
  const json: HeaderPair = ["content-type", "application/json"];
  const answer = await via.send({ ...request, headers: [...kept, json], body });
  const { status } = answer;
  const text = await wholeText(plainBody(answer, decoding) ?? new Uint8Array());
  const headers = answer.headers.filter(([name]) => !BODY_HEADERS.has(name));
  if (status >= 300) return { status, headers, body: utf8(text) };
  const found = models.read(parsedObject(text) ?? {});
  if (found.vectors.length !== texts.length)
    throw new TransportError("broken", "The provider's answer has not one vector for each text");
  const told = Number(headerValue(headers, TOKENS_HEADER) ?? Number.NaN);
  const vectors = found.vectors.map((vector) => written(vector, isBase64));
  return {
    vectors,
    tokens: found.tokens ?? tokenCount(told),
    headers,
  };
}

function written(vector: unknown, isBase64: boolean): Uint8Array {
  const isVector = Array.isArray(vector) && vector.every((one) => typeof one === "number");
  if (!isVector || vector.length === 0)
    throw new TransportError("broken", "The provider's answer has a vector without numbers");
  const text = isBase64 ? toBase64(new Uint8Array(Float32Array.from(vector).buffer)) : vector;
  return utf8(JSON.stringify(text));
}

/** Returns the tokens of all texts; null where one request tells none. */
function tokensOf(answered: readonly (EmbeddedTexts | undefined)[]): number | null {
  let sum = 0;
  for (const one of answered) {
    if (one === undefined) continue;
    if (one.tokens === null) return null;
    sum += one.tokens;
  }
  return sum;
}

function usageOf(tokens: number | null): Json {
  return tokens === null ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** The answer of OpenAI's API; it is put together from bytes in parts, as thirty megabytes would hold up all other requests. */
async function whole(
  answered: readonly (EmbeddedTexts | undefined)[],
  { model }: EmbeddingRequest,
  parts: EmbeddingParts,
): Promise<InboundResponse> {
  const vectors = answered.flatMap((one) => one?.vectors ?? []);
  const data = vectors.flatMap((vector, index) => [
    utf8(`${index === 0 ? "" : "},"}{"object":"embedding","index":${index},"embedding":`),
    vector,
  ]);
  const rest = JSON.stringify({ model, ...usageOf(tokensOf(answered)) }).slice(1);
  const pieces = [utf8('{"object":"list","data":['), ...data, utf8(`}],${rest}`)];
  return {
    status: 200,
    headers: [...(answered[0]?.headers ?? []), ["content-type", "application/json"]],
    body: await joinInParts(pieces, parts),
  };
}

/** Adds to a failure what the texts before it have used. */
function withUsage(failure: InboundResponse, tokens: number | null): InboundResponse {
  const body = failure.body instanceof Uint8Array ? new TextDecoder().decode(failure.body) : "";
  const said = parsedObject(body) ?? { message: body.slice(0, 500) };
  return {
    ...failure,
    headers: [...failure.headers, ["content-type", "application/json"]],
    body: utf8(JSON.stringify(tokens === 0 ? said : { ...said, ...usageOf(tokens) })),
  };
}
