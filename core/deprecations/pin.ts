import { invalidRequest } from "../http/api-error.ts";
import { changedStream } from "../http/body/changed-stream.ts";
import { piecesOf } from "../http/body/read-soon.ts";
import { parseInstant } from "../http/fields/instant.ts";
import { boundedJson, isObject, type Json, jsonObject, ownMember } from "../http/json.ts";
import { changedJson } from "../http/json/json-source.ts";
import { JsonUnits } from "../http/json/json-units.ts";
import { utf8 } from "../crypto/encoding.ts";
import { copyOf } from "../net/client-address.ts";
import {
  asksForOther,
  forPlainJson,
  inspectResponse,
  isJsonType,
  reshaped,
  withJson,
} from "./json-body.ts";
import { type Deprecations, isPinDay } from "./options.ts";
import { fillPath, pathStart } from "./translate/pathname.ts";
import type { ScheduledEntry } from "./phase.ts";
import type { Around } from "./table/entry.ts";
import { withoutEscapes } from "./translate/raw-query.ts";

/** The header that pins a client to a day. */
const COMPAT_DATE = "Api-Compat-Date";

/** The day that a client is pinned to, and the entries that ended later, so that it still gets their old form. */
export interface Pin {
  readonly day: string;
  readonly entries: readonly ScheduledEntry[];
}

/** The pin of a request, by its header or its token; null without one. Throws `invalid_request` for a header that is not a day. */
export async function pinOf(
  request: Request,
  entries: readonly ScheduledEntry[],
  { auth, pins }: Pick<Deprecations, "auth" | "pins">,
): Promise<Pin | null> {
  const undone = entries.filter((entry) => (entry.oldRecord ?? entry.oldFailure) !== undefined);
  if (undone.length === 0) return null;
  const sent = request.headers.get(COMPAT_DATE);
  const day = sent ?? (await pinOfCaller(request, auth, pins));
  if (day === null) return null;
  if (!isPinDay(day)) {
    const shown = day.slice(0, 64);
    const message = `${COMPAT_DATE} "${shown}": expected a day such as "2024-06-01"`;
    throw invalidRequest(message);
  }
  const at = parseInstant(day) ?? 0;
  const isLater = ({ enforceAt }: ScheduledEntry): boolean => enforceAt !== null && at < enforceAt;
  return { day, entries: undone.filter(isLater) };
}

async function pinOfCaller(
  request: Request,
  auth: Deprecations["auth"],
  pins: Deprecations["pins"],
): Promise<string | null> {
  if (pins === undefined) return null;
  if (typeof pins === "function") return await pins(request);
  if (auth === "off") return null;
  const principal = await auth(request);
  const id = principal?.id ?? "";
  return ownMember(pins, id) ?? null;
}

/** The request of a pinned client, whose answer has to be read. */
export function plainRequest(request: Request): Request {
  const { headers } = request;
  if (!asksForOther(headers)) return request;
  return copyOf(request, new Request(request, { headers: forPlainJson(headers) }));
}

/** The request of an answer, and how its host answers a further one. */
interface Origin {
  readonly request: Request;
  /** The pathname below the API root. */
  readonly path: string;
  /** Lets the host answer a further request; null where it cannot be asked. */
  readonly ask: Deprecations["ask"];
  readonly known: Deprecations;
}

/** The answer as it was on the day of the pin, and the entries whose old form it has now. */
export async function inOldForm(
  response: Response,
  { day, entries }: Pin,
  origin: Origin,
): Promise<{ readonly response: Response; readonly used: readonly ScheduledEntry[] }> {
  const { status, headers, body } = response;
  const used = entries.filter((entry) =>
    status < 300 ? entry.oldRecord !== undefined : status === 400 && entry.oldFailure !== undefined,
  );
  const isReadable = body !== null && isJsonType(headers) && !headers.has("content-encoding");
  if (used.length === 0 || !isReadable) return { response, used: [] };
  const old =
    status < 300 ? await recordsOf(response, used, origin) : await failureOf(response, used);
  old.headers.set(COMPAT_DATE, day);
  old.headers.append("vary", COMPAT_DATE);
  return { response: old, used };
}

async function failureOf(response: Response, used: readonly ScheduledEntry[]): Promise<Response> {
  const inspected = await inspectResponse(response);
  if (inspected === null) return response;
  const { json, message } = inspected;
  if (!isObject(json)) return message;
  return withJson(
    inspected,
    used.reduce((failure, entry) => entry.oldFailure?.(failure) ?? failure, json),
  );
}

/** Each record of the envelope gets its fields as it passes. */
async function recordsOf(
  response: Response,
  used: readonly ScheduledEntry[],
  origin: Origin,
): Promise<Response> {
  const arounds = await Promise.all(used.map((entry) => aroundOf(entry, origin)));
  const units = new JsonUnits(({ name, text }) => {
    const json = name === "result" ? boundedJson(text) : undefined;
    if (!isObject(json)) return text;
    const old = used.reduce<Json>((record, entry, index) => {
      const around = arounds[index];
      return around === undefined ? record : (entry.oldRecord?.(record, around) ?? record);
    }, json);
    return changedJson(text, json, old);
  });
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const change = {
    push: (chunk: Uint8Array) => utf8(units.push(decoder.decode(chunk, { stream: true }))),
    end: () => utf8(units.push(decoder.decode()) + units.end()),
  };
  const { status, statusText, headers } = response;
  const reader = (response.body ?? new Blob().stream()).getReader();
  const pieces = piecesOf(new Uint8Array(), reader.read(), reader, origin.known.platform?.system);
  const body = changedStream(pieces, change);
  return new Response(body, { status, statusText, headers: reshaped(headers) });
}

async function aroundOf(
  { path: template, lookUp }: ScheduledEntry,
  { request, path: asked, ask, known }: Origin,
): Promise<Around> {
  const values = asked.split("/");
  const named = (template ?? "")
    .split("/")
    .flatMap((name, index) =>
      name.startsWith("{")
        ? [[name.slice(1, -1), withoutEscapes(values[index] ?? "")] as const]
        : [],
    );
  const parameters = Object.fromEntries(named);
  const path = lookUp === undefined ? null : fillPath(lookUp, template ?? "", asked);
  if (path === null || ask === null) return { parameters, found: {} };
  const root = request.url.slice(0, pathStart(request.url));
  const headers = forPlainJson(request.headers);
  for (const name of ["content-type", "content-length"]) headers.delete(name);
  // The caller's own credentials: what they may not see they do not get.
  const url = `${root}${known.place.basePath}${path}`;
  const answer = await ask(copyOf(request, new Request(url, { headers, signal: request.signal })));
  const inspected = answer.ok ? await inspectResponse(answer) : null;
  if (!answer.ok) await answer.body?.cancel();
  return { parameters, found: jsonObject(jsonObject(inspected?.json)["result"]) };
}
