import * as v from "valibot";
import type { GatewayEmbeddings, GatewayModel, OpenAiEndpoint } from "../search/mod.ts";
import { positiveInteger, id, type Members, url } from "./fields.ts";

/** A model behind an OpenAI-compatible endpoint, or behind a gateway of this program: one of the two is there. */
export interface PlacedModelConfig
  extends Omit<OpenAiEndpoint, "baseUrl">, Partial<Pick<OpenAiEndpoint, "baseUrl">> {
  /** Id of the gateway; `model` is then `{provider}/{model}`. */
  readonly gateway?: GatewayModel["gateway"];
  /** Bounds each request, and the wait for a chat to begin and to go on. @default as its part says */
  readonly timeoutSeconds?: number;
}

/** A credential that is sent in a header: a line break behind it, as files have, would make every request fail. */
export const headerSecret: v.GenericSchema<string> = v.pipe(
  v.string(),
  v.regex(
    /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/,
    "expected printable ASCII without blanks at its ends",
  ),
);
const headerName = v.pipe(
  v.string(),
  v.regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "expected the name of a header"),
);

/** Headers that are sent with every request. */
export const sentHeaders: v.GenericSchema<unknown, Record<string, string>> = v.record(
  headerName,
  headerSecret,
);

const endpoint = {
  baseUrl: url,
  model: v.string(),
  apiKey: v.exactOptional(headerSecret),
  headers: v.exactOptional(sentHeaders),
} satisfies Members<OpenAiEndpoint>;

/** A model behind an endpoint. */
export const endpointModel: v.GenericSchema<unknown, OpenAiEndpoint> = v.strictObject(endpoint);

const timeoutSeconds = v.exactOptional(
  v.pipe(v.number(), v.minValue(0.001), v.maxValue(3600, "expected at most 3600 seconds")),
);

/** A model behind an endpoint whose requests are bounded. */
export const timedModel: v.GenericSchema<
  unknown,
  OpenAiEndpoint & { readonly timeoutSeconds?: number }
> = v.strictObject({ ...endpoint, timeoutSeconds });

const placed = {
  ...endpoint,
  baseUrl: v.exactOptional(url),
  gateway: v.exactOptional(id),
  timeoutSeconds,
} satisfies Members<PlacedModelConfig>;

/** The fault in the place of a model; null for a valid one. */
function placeProblem({
  apiKey,
  baseUrl,
  gateway: behind,
  headers,
  model: name,
}: PlacedModelConfig): string | null {
  if ((baseUrl === undefined) === (behind === undefined))
    return "expected baseUrl, or the id of a gateway";
  if (behind === undefined) return null;
  if ((apiKey ?? headers) !== undefined)
    return "A gateway has keys of its own: expected neither apiKey nor headers beside it";
  return /^[^/]+\/./u.test(name)
    ? null
    : "expected {provider}/{model} for a model behind a gateway";
}

/** A chat model, with its place. */
export const chatModel: v.GenericSchema<unknown, PlacedModelConfig> = v.pipe(
  v.strictObject(placed),
  v.check(
    (one) => placeProblem(one) === null,
    ({ input }) => placeProblem(input) ?? "",
  ),
);

/** An embedding model behind an endpoint or a gateway. */
export type EmbedderConfig = PlacedModelConfig & Omit<GatewayEmbeddings, keyof GatewayModel>;

/** An embedding model, with its place. */
export const embedder: v.GenericSchema<unknown, EmbedderConfig> = v.pipe(
  v.strictObject({
    ...placed,
    dimensions: positiveInteger,
    sendDimensions: v.exactOptional(v.boolean()),
    batchSize: v.exactOptional(v.pipe(positiveInteger, v.maxValue(2048))),
    queryPrefix: v.exactOptional(v.string()),
    documentPrefix: v.exactOptional(v.string()),
  }),
  v.check(
    (one) => placeProblem(one) === null,
    ({ input }) => placeProblem(input) ?? "",
  ),
);
