import { type ErrorFacts, errorFacts } from "../http/api-error.ts";
import { errorBody } from "../http/envelope.ts";
import { oncePer } from "../work/once-per.ts";
import type { DeprecationEntry } from "./table/entry.ts";
import { brownoutEnd, type ScheduledEntry } from "./phase.ts";
import { documentationUrl, type SignalPlace, type DeprecationSignals } from "./signal.ts";

/** 410 is cacheable by default, and SDKs retry whatever they may: these headers forbid both. */
const REFUSAL_HEADERS = { "cache-control": "no-store", "x-should-retry": "false" };

const retiredAt = oncePer((place: SignalPlace) =>
  oncePer((entry: ScheduledEntry) => {
    const day = new Date(entry.enforceAt ?? entry.deprecatedAt).toISOString().slice(0, 10);
    return errorFacts("retired", {
      message: sentences(replacementText(entry), `${routeOf(entry)} was retired on ${day}`, entry),
      ...refusal(entry, place),
    });
  }),
);

/** 410 for a retired endpoint; the replacement is named in the message, where SDK users look. */
export function retired(entry: ScheduledEntry, place: SignalPlace): ErrorFacts {
  return retiredAt(place)(entry);
}

/** The JSON of a refusal. That of a 410 is made once. */
export const refusalText: (error: ErrorFacts) => string = oncePer((error) =>
  JSON.stringify(errorBody(error, "api")),
);

/** 410 during a brownout. */
export function brownedOut(entry: ScheduledEntry, place: SignalPlace, now: number): ErrorFacts {
  const end = brownoutEnd(entry, now) ?? now;
  const until = new Date(end).toISOString();
  const { headers, ...rest } = refusal(entry, place);
  return errorFacts("brownout", {
    message: sentences(
      replacementText(entry),
      `${routeOf(entry)} is in a brownout until ${until}`,
      entry,
    ),
    headers: { ...headers, "retry-after": String(Math.ceil((end - now) / 1000)) },
    ...rest,
  });
}

/**
 * 400 for a retired parameter or field of a route that lives on. The first sentence is the hosted platform's own
 * (observed for the DNS list filters); the replacement follows it.
 */
export function refusedParameter(
  entry: ScheduledEntry,
  place: SignalPlace,
  url: string,
  instead: string,
): ErrorFacts {
  const shown = url.length > 300 ? `${url.slice(0, 300)}…` : url;
  const day = entry.date ?? entry.eol ?? "";
  return errorFacts("retired_parameter", {
    message: `${shown} is no longer supported. See ${place.docs}#${day} for more information. Instead: ${instead}`,
    ...refusal(entry, place),
  });
}

/** The part of an entry that travels with a refusal. */
export function publicFacts(entry: DeprecationEntry): Readonly<Record<string, unknown>> {
  const { id, date, eol, replacement, rule } = entry;
  return { id, date, eol, replacement, rule };
}

/** The signals as headers of an error; there is nothing to merge them with. */
export function errorSignals(sent: DeprecationSignals): Readonly<Record<string, string>> {
  return {
    deprecation: sent.deprecation,
    ...(sent.sunset === null ? {} : { sunset: sent.sunset }),
    link: sent.links.join(", "),
    "access-control-expose-headers": "Deprecation, Sunset, Link",
  };
}

interface Refusal {
  readonly headers: Readonly<Record<string, string>>;
  readonly details: Readonly<Record<string, unknown>>;
  readonly body: Readonly<Record<string, unknown>>;
}

function refusal(entry: ScheduledEntry, place: SignalPlace): Refusal {
  return {
    headers: REFUSAL_HEADERS,
    details: { documentation_url: documentationUrl(entry, place) },
    body: { deprecation: publicFacts(entry) },
  };
}

/** The route of an entry, in words. */
export function routeOf({ methods, path }: DeprecationEntry): string {
  return routeText(methods.join("|"), path ?? "");
}

function routeText(method: string, path: string): string {
  return method === "*" ? path : `${method} ${path}`;
}

/** The replacement first, because users of a client read no further; then what happened, and the announcement's prose. */
function sentences(use: string | null, what: string, entry: DeprecationEntry): string {
  const why = entry.rule?.replace(/\.?$/, ".");
  const said = why === undefined ? "" : ` ${why}`;
  if (use !== null) return `Use ${use}. ${what}.${said}`;
  return entry.class === "D" || why === undefined
    ? `${what}; no replacement.${said}`
    : `${what}; use instead: ${why}`;
}

/** The routes and calls that replace an entry, in words; null without any. */
export function replacementText({ replacement, calls = [] }: DeprecationEntry): string | null {
  const texts = [
    ...replacement.map(({ method, path }) => routeText(method, path)),
    ...calls.map(({ method, path, client }) => `${method} ${path} (client.${client})`),
  ];
  return texts.length === 0 ? null : texts.join(" and ");
}
