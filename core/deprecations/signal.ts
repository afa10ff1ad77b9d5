import { carryNote } from "../http/response-note.ts";
import { oncePer } from "../work/once-per.ts";
import type { ScheduledEntry } from "./phase.ts";
import { fillPath } from "./translate/pathname.ts";

/** The addresses at which the entries are documented and served. */
export interface SignalPlace {
  /** Page whose fragments are entry ids; absolute, or a path on the same host. */
  readonly docs: string;
  /** Path of the API root in requests, without a slash at the end. */
  readonly basePath: string;
  /** The path prefix of clients' requests that the host removes. */
  readonly mountPath: string;
}

/** The headers that announce a deprecation. */
export interface DeprecationSignals {
  /** RFC 9745: a Structured Fields Date. */
  readonly deprecation: string;
  /** RFC 8594: an HTTP date; null when no end is known. */
  readonly sunset: string | null;
  /** RFC 8288 links, to be merged with those of the response. */
  readonly links: readonly string[];
}

/** The texts of an entry in an announcement, made once. */
const textsAt = oncePer((place: SignalPlace) =>
  oncePer((entry: ScheduledEntry) => ({
    link: `<${documentationUrl(entry, place)}>; rel="deprecation"; type="text/html"`,
    end: new Date(entry.enforceAt ?? 0).toUTCString(),
    successor: successorOf(entry, place),
  })),
);

/** The headers of several entries that one request hit; `path` is its raw pathname below the API root. Needs at least one entry. */
export function deprecationSignals(
  entries: readonly ScheduledEntry[],
  place: SignalPlace,
  path: string,
): DeprecationSignals {
  const textsOf = textsAt(place);
  let deprecatedAt = Infinity;
  for (const entry of entries) deprecatedAt = Math.min(deprecatedAt, entry.deprecatedAt);
  let [endAt, sunset]: [number, string | null] = [Infinity, null];
  const links: string[] = [];
  const successors = new Set<string>();
  for (const entry of entries) {
    const { link, end, successor } = textsOf(entry);
    const at = entry.enforceAt ?? -Infinity;
    if (at >= deprecatedAt && at < endAt) [endAt, sunset] = [at, end];
    links.push(link);
    const next = successor?.(path) ?? null;
    if (next !== null) successors.add(next);
  }
  return {
    deprecation: `@${Math.floor(deprecatedAt / 1000)}`,
    sunset,
    links: [...links, ...successors],
  };
}

export function documentationUrl(entry: { readonly id: string }, place: SignalPlace): string {
  return `${place.docs}#${encodeURIComponent(entry.id)}`;
}

/** Only an endpoint with exactly one replacement has a successor, for paths that fill its every parameter. */
function successorOf(
  { kind, replacement, path: template }: ScheduledEntry,
  { mountPath, basePath }: SignalPlace,
): ((path: string) => string | null) | null {
  const [only, second] = replacement;
  if (kind !== "endpoint" || only === undefined || second !== undefined || template === null)
    return null;
  return (path) => {
    const target = fillPath(only.path, template, path);
    return target === null ? null : `<${mountPath}${basePath}${target}>; rel="successor-version"`;
  };
}

/** Adds the signals to headers, merged with a `Link` and an `Access-Control-Expose-Headers` that are there. */
function addSignals(headers: Headers, sent: DeprecationSignals): void {
  headers.set("deprecation", sent.deprecation);
  if (sent.sunset !== null) headers.set("sunset", sent.sunset);
  headers.append("link", sent.links.join(", "));
  const exposed =
    headers
      .get(EXPOSE)
      ?.toLowerCase()
      .split(/\s*,\s*/) ?? [];
  const added = EXPOSED.filter((name) => !exposed.includes(name.toLowerCase()));
  if (added.length > 0) headers.append(EXPOSE, added.join(", "));
}

const EXPOSE = "access-control-expose-headers";
const EXPOSED = ["Deprecation", "Sunset", "Link"];

/** The same response with the signals; its body is passed on untouched. An upgrade (101) is left alone. */
export function withSignals(response: Response, sent: DeprecationSignals): Response {
  if (response.status < 200) return response;
  // With the response itself, because workerd would encode once more what it was told to send as it is.
  const made = new Response(response.body, response);
  addSignals(made.headers, sent);
  return carryNote(response, made);
}
