import { ApiError } from "../../http/api-error.ts";
import { decodedValue } from "../wire/own-tokens.ts";
import { movedTo, type ConfiguredTargets } from "../providers/target.ts";

/** What a provider's realtime WebSocket differs in from its HTTP paths: data, so that adding one is adding a row. */
export interface RealtimeProvider {
  /** The provider's path segment for everything else. @default the segment itself */
  readonly slug?: string;
  /** Path when the client names none; `{name}` is taken out of the query. @default none: the client has to name one */
  readonly path?: string;
  /** Where it lives when that is not the provider's base URL, for paths that `except` does not match. */
  readonly base?: { readonly url: string; readonly except: RegExp };
  /** Query parameters by the names that the provider knows. @default {} */
  readonly parameters?: Readonly<Record<string, string>>;
  /** Subprotocol `{word}.{key}` that carries a key from browsers. @default none */
  readonly keyWord?: string;
  /** Subprotocols after which the next one is the credential, and the scheme that it then has. @default {} */
  readonly keyAfter?: Readonly<Record<string, string>>;
}

const gemini: RealtimeProvider = {
  slug: "google-ai-studio",
  path: "ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
  parameters: { api_key: "key" },
};

/** Realtime providers by their path segment; all others are reached by their own paths. */
export const realtimeProviders: Readonly<Record<string, RealtimeProvider>> = {
  openai: { path: "v1/realtime", keyWord: "openai-insecure-api-key" },
  google: gemini,
  "google-ai-studio": gemini,
  elevenlabs: { path: "v1/convai/conversation", keyWord: "xi-api-key" },
  cartesia: { path: "tts/websocket" },
  deepgram: {
    path: "v1/listen",
    // Voice agents have a host of their own.
    base: { url: "https://agent.deepgram.com", except: /^(?!v1\/agent\/)/ },
    keyAfter: { token: "Token", bearer: "Bearer" },
  },
  // HTTP over WebSocket; apps with a realtime endpoint of their own are on the ordinary host.
  fal: { base: { url: "https://ws.fal.run", except: /\/realtime$/ }, keyWord: "fal-api-key" },
  "workers-ai": { path: "run/{model}" },
};

/** Where a realtime connection leads, in the terms of an ordinary request. */
export interface RealtimePath {
  readonly slug: string;
  readonly rest: string;
  readonly query: string;
}

/** Turns what the client asked for into a path of the provider; throws `invalid_request` when it names none. */
export function realtimePath(segment: string, rest: string, query: string): RealtimePath {
  const row = Object.hasOwn(realtimeProviders, segment) ? realtimeProviders[segment] : undefined;
  const slug = row?.slug ?? segment;
  const renamed = renameParameters(query, row?.parameters ?? {});
  if (rest !== "" && rest !== "/") return { slug, rest, query: renamed };
  if (row?.path === undefined) {
    throw new ApiError("invalid_request", {
      message: `A WebSocket to "${segment.slice(0, 64)}" needs a path: …/${segment.slice(0, 64)}/{path}`,
    });
  }
  const name = /\{(\w+)\}/.exec(row.path)?.[1];
  return name === undefined
    ? { slug, rest: row.path, query: renamed }
    : { slug, ...filled(row.path, name, renamed) };
}

function filled(path: string, name: string, query: string): { rest: string; query: string } {
  const parts = partsOf(query);
  const given = parts.find((part) => part.startsWith(`${name}=`));
  const value = decodedValue(given?.slice(name.length + 1) ?? "");
  if (!/^@?[\w-][\w./-]{0,255}$/.test(value)) {
    throw new ApiError("invalid_request", { message: `Name the model: …?${name}=@cf/…` });
  }
  return {
    rest: path.replace(`{${name}}`, value),
    query: joined(parts.filter((part) => part !== given)),
  };
}

function renameParameters(query: string, names: Readonly<Record<string, string>>): string {
  const rename = (part: string): string => {
    const end = part.includes("=") ? part.indexOf("=") : part.length;
    const name = part.slice(0, end);
    return Object.hasOwn(names, name) ? `${names[name]}${part.slice(end)}` : part;
  };
  return joined(partsOf(query).map(rename));
}

function partsOf(query: string): string[] {
  return query.length < 2 ? [] : query.slice(1).split("&");
}

function joined(parts: readonly string[]): string {
  return parts.length === 0 ? "" : `?${parts.join("&")}`;
}

/** The configured providers, those with a host of their own for this path included. */
export function realtimeTargets(
  options: ConfiguredTargets,
  slug: string,
  rest: string,
): ConfiguredTargets {
  const base = Object.hasOwn(realtimeProviders, slug) ? realtimeProviders[slug]?.base : undefined;
  if (base === undefined || base.except.test(rest)) return options;
  return movedTo(options, slug, base.url);
}
