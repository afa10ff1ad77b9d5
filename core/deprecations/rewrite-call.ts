import { type ArrivingRoom, readArriving } from "../http/arriving-body.ts";
import { isObject } from "../http/json.ts";
import { copyOf } from "../net/client-address.ts";
import { INSPECT_LIMIT, inspectRequest, inspectResponse, reshaped, withJson } from "./json-body.ts";
import type { Deprecations } from "./options.ts";
import type { ScheduledEntry } from "./phase.ts";
import { type EncodedDeps, rewriteNote, withNotes } from "./revise-response.ts";
import type { NewCall, OldCall } from "./translate/endpoint-calls.ts";
import { pathStart, rawQuery } from "./translate/pathname.ts";

/** A call of an endpoint that has ended, on its way. */
export interface RewritableCall {
  readonly request: Request;
  /** The entry, which has a rewriting. */
  readonly entry: ScheduledEntry;
  /** The pathname below the API root, and the path of that. */
  readonly path: string;
  readonly basePath: string;
  readonly known: EncodedDeps;
  /** The memory that inspected bodies count against. */
  readonly room: ArrivingRoom | undefined;
}

/** The answers of a host that has no such route. */
const UNROUTED: ReadonlySet<number> = new Set([404, 405]);

/** The host, as far as it is asked in place of an old route. */
interface AskedHost {
  readonly ask: Deprecations["ask"];
  isRouted(method: string, path: string): boolean | null;
}

/**
 * Asks the host in today's form, and answers in the old one. Null where the call has no such form, or the host no such route:
 * then the request's body may have been read.
 */
export async function answerRewritten(
  { request, entry, path, basePath, known, room }: RewritableCall,
  host: AskedHost,
): Promise<Response | null> {
  const { rewriting } = entry;
  if (rewriting === undefined || host.ask === null) return null;
  const inspected = rewriting.readsBody === true ? await inspectRequest(request, room) : null;
  const { method, url } = request;
  const template = entry.path ?? "";
  const call: OldCall = { method, path, template, query: rawQuery(url), json: inspected?.json };
  const modern = rewriting.toModern(call);
  if (modern === null) return null;
  const routed = host.isRouted(method, modern.path);
  if (routed === false) return null;
  const source = inspected?.message ?? request;
  const root = `${url.slice(0, pathStart(url))}${basePath}`;
  const asked = modernRequest(source, root, modern, call);
  // Only the whole answer in plain JSON can take its old form.
  if (rewriting.toOld !== undefined) asked.headers.set("accept-encoding", "identity");
  const answer = await host.ask(copyOf(request, asked));
  if (answer.ok) {
    const old = await inOldShape(answer, entry, call);
    return await withNotes(old, notesOf(entry), known);
  }
  if (routed !== null || !UNROUTED.has(answer.status)) return answer;
  await answer.body?.cancel();
  return null;
}

/** A rewriting that hangs on a condition says so. */
function notesOf(entry: ScheduledEntry): string[] {
  return entry.lossless === "yes" ? [] : [rewriteNote(entry)];
}

/** The answer in its old form. */
async function inOldShape(
  response: Response,
  { rewriting }: ScheduledEntry,
  call: OldCall,
): Promise<Response> {
  const { toOld } = rewriting ?? {};
  const inspected = toOld === undefined ? null : await inspectResponse(response);
  if (toOld === undefined || inspected === null) return response;
  const { json, message } = inspected;
  return isObject(json) ? withJson(inspected, toOld(json, call)) : message;
}

function modernRequest(
  source: Request,
  root: string,
  { path, query, json, form }: NewCall,
  call: OldCall,
): Request {
  const { method, signal } = source;
  const search = query ?? call.query;
  const url = `${root}${path}${search === "" ? "" : `?${search}`}`;
  const init = { method, signal };
  if (json === undefined && form === undefined) {
    const { headers, body } = source;
    // `duplex` is not in TypeScript's RequestInit; Node asks for it when the body is a stream.
    return new Request(url, { ...init, headers, body, duplex: "half" } as RequestInit);
  }
  const headers = reshaped(source.headers);
  headers.delete("content-type");
  if (form !== undefined) {
    const fields = new FormData();
    for (const [name, value] of Object.entries(form)) fields.set(name, value);
    return new Request(url, { ...init, headers, body: fields });
  }
  if (json === null) return new Request(url, { ...init, headers });
  headers.set("content-type", "application/json");
  return new Request(url, { ...init, headers, body: JSON.stringify(json) });
}

/** A request that can be sent twice; null for one whose body is too long for that. `first` has its body in any case. */
export async function twice(
  request: Request,
  room: ArrivingRoom | undefined,
): Promise<{ readonly first: Request; readonly second: Request | null }> {
  const { body } = request;
  if (body === null || request.bodyUsed) return { first: request, second: request };
  const arrived = await readArriving(body, INSPECT_LIMIT, room);
  const copy = (own: BodyInit): Request =>
    copyOf(request, new Request(request, { body: own, duplex: "half" } as RequestInit));
  return arrived instanceof ReadableStream
    ? { first: copy(arrived), second: null }
    : { first: copy(arrived), second: copy(arrived) };
}
