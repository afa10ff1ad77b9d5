/** A format of chats, as a provider's settings name it: `chat` is OpenAI's chat completions. */
export type SpokenFormat = "chat" | "responses" | "messages";

/** The place and account by which a cloud serves models. Each member belongs to one cloud. */
export interface CloudSettings {
  /** Azure: the name of the resource, as in `https://{resource}.openai.azure.com`. */
  readonly resource?: string | undefined;
  /** Azure: the version of the API, where deployments are asked by their own paths. @default the v1 API, without one */
  readonly apiVersion?: string | undefined;
  /** Azure: the tenant, the id and the secret of an application of Entra. */
  readonly tenantId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** Vertex AI: the project. @default that of the service account */
  readonly project?: string | undefined;
  /** Vertex AI, Bedrock: the region. @default "global" at Vertex AI */
  readonly region?: string | undefined;
  /** Vertex AI: the JSON text of a service account's key. */
  readonly serviceAccount?: string | undefined;
  /** Bedrock: the access key that signs requests. */
  readonly accessKeyId?: string | undefined;
  readonly secretAccessKey?: string | undefined;
  readonly sessionToken?: string | undefined;
}

/** A stored secret of a cloud: a plain key, or settings with or without one. */
export interface CloudSecret extends CloudSettings {
  readonly apiKey?: string | undefined;
}

/** An operator's settings for a provider. */
export interface ProviderOptions extends CloudSettings {
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
