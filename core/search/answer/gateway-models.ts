import type { Embedder, HeaderPair, Transport } from "../../ports.ts";
import type { NamedChatModel } from "../models/search-deps.ts";
import { openAiChatModel, type OpenAiEmbeddings, openAiEmbedder } from "./openai.ts";

/** A model behind a gateway of the same process, with its keys, cache, limits and logs. */
export interface GatewayModel {
  readonly gateway: string;
  /** `{provider}/{model}`, e.g. `openai/gpt-4o-mini`. */
  readonly model: string;
  /** Sent to the provider, e.g. another key than the gateway's. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** An embedding model behind a gateway. */
export interface GatewayEmbeddings
  extends GatewayModel, Omit<OpenAiEmbeddings, "baseUrl" | "apiKey" | "model" | "headers"> {}

/** One step of a universal request to a gateway. */
export interface GatewayStep {
  readonly provider: string;
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: unknown;
}

/** Sends a step through a gateway, in process; `AiBinding.run` does. */
export type GatewayRun = (
  step: GatewayStep,
  options: { readonly signal?: AbortSignal | undefined },
) => Promise<Response>;

/** Stands for an address: the gateway knows the provider's. */
const BASE = "gateway:";

/**
 * Makes a chat model of any provider, in the OpenAI format, through a gateway.
 *
 * @example
 * ```ts
 * import { createAiBinding } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 * import { gatewayChatModel, search } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const binding = createAiBinding({ platform });
 * const model = { gateway: "default", model: "openai/gpt-4o-mini" };
 * const chatModel = gatewayChatModel(model, (step, options) => binding.run(step, options));
 * const app = search({ platform, chatModel });
 * ```
 */
export function gatewayChatModel(
  { model, headers }: GatewayModel,
  run: GatewayRun,
): NamedChatModel {
  return openAiChatModel(
    { baseUrl: BASE, model, headers },
    gatewayTransport(run, "compat", (name) => name),
  );
}

/**
 * Makes an embedder of a provider that has OpenAI's `embeddings`, through a gateway.
 *
 * @example
 * ```ts
 * import { createAiBinding } from "causey/gateway";
 * import { memoryPlatform } from "causey/memory";
 * import { gatewayEmbedder, search } from "causey/search";
 *
 * const platform = await memoryPlatform();
 * const binding = createAiBinding({ platform });
 * const model = { gateway: "default", model: "openai/text-embedding-3-small", dimensions: 1536 };
 * const embedder = gatewayEmbedder(model, (step, options) => binding.run(step, options));
 * const app = search({ platform, embedder });
 * ```
 */
export function gatewayEmbedder(endpoint: GatewayEmbeddings, run: GatewayRun): Embedder {
  const [provider = ""] = endpoint.model.split("/", 1);
  const transport = gatewayTransport(run, provider, (name) => name.slice(provider.length + 1));
  return openAiEmbedder({ ...endpoint, baseUrl: BASE }, transport);
}

/** Makes a transport whose requests are steps of a gateway; `nameOf` is what the provider calls a model. */
function gatewayTransport(
  run: GatewayRun,
  provider: string,
  nameOf: (model: string) => string,
): Transport {
  return {
    async send({ url, headers: sent, body, signal }) {
      const query = JSON.parse(body instanceof Uint8Array ? new TextDecoder().decode(body) : "{}");
      const response = await run(
        {
          provider,
          endpoint: url.slice(BASE.length + 1),
          headers: Object.fromEntries(sent),
          query: { ...query, model: nameOf(String(query.model)) },
        },
        { signal },
      );
      const headers = [...response.headers].map(([name, value]): HeaderPair => [name, value]);
      return { status: response.status, headers, body: response.body };
    },
  };
}
