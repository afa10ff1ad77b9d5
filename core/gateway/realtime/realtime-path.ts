import { ownMember } from "../../http/json.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { decodedValue } from "../wire/own-tokens.ts";
import { providerRow } from "../providers/known/table.ts";
import { movedTo, type ConfiguredTargets } from "../providers/target.ts";

/** Names of providers that only realtime connections have. */
const aliases: Readonly<Record<string, string>> = { google: "google-ai-studio" };

/** The target of a realtime connection, in the terms of an ordinary request. */
export interface RealtimePath {
  readonly slug: string;
  readonly rest: string;
  readonly query: string;
}

/** Turns the client's address into a path of the provider; throws `invalid_request` when it names none. */
export function realtimePath(segment: string, rest: string, query: string): RealtimePath {
  const slug = ownMember(aliases, segment) ?? segment;
  const row = providerRow(slug)?.realtime;
  const renamed = renameParameters(query, row?.parameters ?? {});
  if (rest !== "" && rest !== "/") return { slug, rest, query: renamed };
  if (row?.path === undefined) {
    throw invalidRequest(
      `A WebSocket to "${segment.slice(0, 64)}" needs a path: …/${segment.slice(0, 64)}/{path}`,
    );
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
    throw invalidRequest(`Name the model: …?${name}=@cf/…`);
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

/** Returns the configured providers, those with a host of their own for this path included. */
export function realtimeTargets(
  options: ConfiguredTargets,
  slug: string,
  rest: string,
): ConfiguredTargets {
  const base = providerRow(slug)?.realtime?.base;
  if (base === undefined || base.except.test(rest)) return options;
  return movedTo(options, slug, base.url);
}
