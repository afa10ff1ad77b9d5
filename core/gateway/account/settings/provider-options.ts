/** A format of chats, as a provider's settings name it: `chat` is OpenAI's chat completions. */
export type SpokenFormat = "chat" | "responses" | "messages";

/** An operator's settings for a provider. */
export interface ProviderOptions {
  /** The base URL as the provider's own SDK takes it, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl?: string | undefined;
  /** Sent in the provider's native header when a request carries no credential of its own. */
  readonly apiKey?: string | undefined;
  /**
   * Whether streams of OpenAI's format tell their usage when they are asked as OpenAI's are; false = they are never
   * asked. @default as the provider's table says; of one that is not built in, false
   */
  readonly streamUsage?: boolean | undefined;
  /**
   * The formats that a `custom-…` provider, or a server of models such as `ollama`, takes. Responses and messages that it
   * does not take become chats.
   * @default found out by a probe when the first one comes, and kept for ten minutes
   */
  readonly speaks?: readonly SpokenFormat[] | undefined;
  /**
   * Whether every model costs nothing that has no price of its own: requests then pass every limit of costs, and the use
   * of answers that tell none is estimated. For `custom-…` providers and servers of models such as `ollama`.
   * @default true for servers of models, else false
   */
  readonly free?: boolean | undefined;
}

/** An operator's settings for a provider of one gateway; prices are the same at all gateways. */
export type GatewayProviderOptions = Omit<ProviderOptions, "free">;
