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
  })),
);

/** The headers of several entries that one request hit; `path` is its raw pathname below the API root. Needs at least one entry. */
export function deprecationSignals(
  entries: readonly ScheduledEntry[],
  place: SignalPlace,
  path: string,
): DeprecationSignals {
  const textsOf = textsAt(place);
  const deprecatedAt = Math.min(...entries.map((entry) => entry.deprecatedAt));
  const ends = entries.flatMap((entry) => {
    const { enforceAt } = entry;
    return enforceAt === null || enforceAt < deprecatedAt ? [] : [{ entry, enforceAt }];
  });
  const [first] = ends.toSorted((a, b) => a.enforceAt - b.enforceAt);
  return {
    deprecation: `@${Math.floor(deprecatedAt / 1000)}`,
    sunset: first === undefined ? null : textsOf(first.entry).end,
    links: [...entries.map((entry) => textsOf(entry).link), ...successors(entries, place, path)],
  };
}

export function documentationUrl(entry: { readonly id: string }, place: SignalPlace): string {
  return `${place.docs}#${encodeURIComponent(entry.id)}`;
}

/** Only an endpoint with exactly one replacement, whose every parameter the old path fills, has a successor. */
function successors(
  entries: readonly ScheduledEntry[],
  place: SignalPlace,
  path: string,
): string[] {
  const links = new Set<string>();
  for (const { kind, replacement, path: template } of entries) {
    const [only, second] = replacement;
    if (kind !== "endpoint" || only === undefined || second !== undefined || template === null)
      continue;
    const target = fillPath(only.path, template, path);
    if (target !== null)
      links.add(`<${place.mountPath}${place.basePath}${target}>; rel="successor-version"`);
  }
  return [...links];
}

/** Adds the signals to headers, merged with a `Link` and an `Access-Control-Expose-Headers` that are there. */
function addSignals(headers: Headers, sent: DeprecationSignals): void {
  headers.set("deprecation", sent.deprecation);
  if (sent.sunset !== null) headers.set("sunset", sent.sunset);
  headers.append("link", sent.links.join(", "));
  headers.set(EXPOSE, exposed(headers.get(EXPOSE)));
}

const EXPOSE = "access-control-expose-headers";

function exposed(existing: string | null): string {
  const names = existing?.split(",").map((name) => name.trim()) ?? [];
  const known = names.map((name) => name.toLowerCase());
  const added = ["Deprecation", "Sunset", "Link"].filter(
    (name) => !known.includes(name.toLowerCase()),
  );
  return [...names.filter((name) => name !== ""), ...added].join(", ");
}

/** The same response with the signals; its body is passed on untouched. An upgrade (101) is left alone. */
export function withSignals(response: Response, sent: DeprecationSignals): Response {
  if (response.status < 200) return response;
  // With the response itself, because workerd would encode once more what it was told to send as it is.
  const made = new Response(response.body, response);
  addSignals(made.headers, sent);
  return carryNote(response, made);
}
