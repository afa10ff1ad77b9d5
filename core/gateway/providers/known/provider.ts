/** A base URL for paths of a provider that begin in a certain way. */
export interface Place {
  /** Leading segments of the path that the base URL takes up. */
  readonly path: string;
  /** Base URL without a slash at its end; `{…}` are segments of `path`. */
  readonly baseUrl: string;
  /** Matches the rest of the path when the path means something else. @default nothing */
  readonly unless?: RegExp;
}

/** The differences of a provider's realtime WebSocket from its HTTP paths. */
export interface Realtime {
  /** Path when the client names none; `{name}` is taken out of the query. @default none: the client has to name one */
  readonly path?: string;
  /** The base URL where it differs from the provider's own, for paths that `except` does not match. */
  readonly base?: { readonly url: string; readonly except: RegExp };
  /** Query parameters by the names that the provider knows. @default {} */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Subprotocol `{word}.{key}` that carries a key from browsers. @default none */
  readonly keyWord?: string;
  /** Subprotocols after which the next one is the credential, and the scheme that it then has. @default {} */
  readonly keyAfter?: Readonly<Record<string, string>>;
}

/** The members of `usage` in which a provider tells the cost of a request. */
export type CostReport = "openrouter" | "perplexity" | "xai";

/** A cloud whose settings say where models are served. */
export type Cloud = "azure" | "vertex" | "bedrock";

/** A provider that a path segment names: data, so that adding one is adding a row. */
export interface Provider {
  /** Base URL without a slash at its end; `{…}` are segments of `path`. Null: it must be configured. */
  readonly baseUrl: string | null;
  /** Header names that can carry a credential. The first is the native one: a stored key goes there. */
  readonly credentials: readonly [string, ...string[]];
  /** Word before a key in the native header. @default "Bearer" in `authorization`, else none */
  readonly scheme?: string;
  /** Query parameters that can carry a credential. @default none */
  readonly queryCredentials?: readonly string[];
  /** Leading segments of the path that the base URL takes up, e.g. `{resource}/{deployment}`. */
  readonly path?: string;
  /** A request header that names the whole `https:` address in place of the path, and the hosts that it may. @default none */
  readonly addressIn?: Readonly<{ header: string; hosts: RegExp }>;
  /** The header of an answer that says where an upload goes on. @default none */
  readonly uploadAddress?: string;
  /** Other places, looked for before `path`. @default none */
  readonly places?: readonly Place[];
  /** The base URL for a path, where the path decides it. @default `baseUrl` */
  readonly hostOf?: (rest: string) => string;
  /** @default WebSockets are reached by the provider's own paths */
  readonly realtime?: Realtime;
  /** Whether `v1` is put before a path that names no version, or which paths it is put before. @default never */
  readonly versioned?: true | RegExp;
  /** The path for chat requests in OpenAI's format, translated ones included. @default the provider takes none */
  readonly openaiChat?: string;
  /** Formats beside OpenAI's chat that the provider takes itself, below `v1`. @default none */
  readonly serves?: readonly ("responses" | "messages")[];
  /** Whether it counts the tokens of messages at `v1/messages/count_tokens`. @default false */
  readonly countsMessages?: true;
  /** How its chats differ from OpenAI's. @default `max_tokens`, the usage of streams is asked for, one system message */
  readonly dialect?: Readonly<{
    limit?: "max_completion_tokens";
    asksUsage?: false;
    wantsThoughts?: true;
    systemAnywhere?: true;
  }>;
  /**
   * How streams in OpenAI's format tell their usage: all by themselves, or when `stream_options` asks.
   * @default not known: they are not asked
   */
  readonly streamUsage?: "told" | "asked";
  /** Matches the model in its paths, which the provider then uses, whatever a body names. @default the body's counts */
  readonly modelInPath?: RegExp;
  /** The formats in which its answers report their usage. @default any: it serves models of several families */
  readonly usage?: readonly ("openai" | "google" | "cohere" | "replicate")[];
  /** The member of its usage that has the cost of a request in USD. @default its usage has no cost */
  readonly tellsCost?: CostReport;
  /** The cloud that it is: its settings say where chats for models of `provider/model` go. @default not a cloud */
  readonly cloud?: Cloud;
  /**
   * Whether it is a server of the operator's own, at this address where no other one is configured: it exists where it is
   * configured, wants no key, and costs nothing.
   * @default false
   */
  readonly local?: true;
  /** The provider's own chat format, into which the path `chat/completions` is translated. @default OpenAI's */
  readonly chat?: "anthropic" | "gemini";
}

export function credentialValue(provider: Provider, key: string): string {
  const scheme = provider.scheme ?? (provider.credentials[0] === "authorization" ? "Bearer" : "");
  return scheme === "" ? key : `${scheme} ${key}`;
}
