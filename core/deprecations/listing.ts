import { type Context, Hono } from "hono";
import { toBase64 } from "../crypto/encoding.ts";
import { sha256, sha256Hex } from "../crypto/digest.ts";
import { qualityOf } from "../text/accept.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { builtText } from "../http/built-text.ts";
import { envelopeBody, errorResponse } from "../http/envelope.ts";
import { checkWholeQuery } from "../http/fields/query.ts";
import { didYouMean } from "../text/nearest.ts";
import { routedPath } from "../http/mount-path.ts";
import { closeRoutes } from "../http/routes.ts";
import { below, type Deprecations, type DeprecationsOptions, OWN_DOCS } from "./options.ts";
import { deprecationsPage, type ListedEntry, STYLE } from "./page.ts";
import { type Phase, phase, type ScheduledEntry } from "./phase.ts";
import { documentationUrl, type SignalPlace } from "./signal.ts";

const PHASES: readonly Phase[] = ["upcoming", "deprecated", "brownout", "retired"];

/** The routes of the table. */
export function listingRoutes(
  known: Deprecations,
  platform: DeprecationsOptions["platform"],
): Hono {
  const app = new Hono();
  app.get(OWN_DOCS, (c) => listEntries(c, known));
  app.get(`${OWN_DOCS}/:id`, (c) => showEntry(c, known));
  if (platform !== undefined) closeRoutes(app, [], "api", platform);
  else app.onError(answerApiError);
  return app;
}

/** Answers a refusal for a host without a platform, which may not know our errors. */
function answerApiError(error: unknown): Response {
  if (error instanceof ApiError) return errorResponse(error, "api");
  throw error;
}

/** Answers with the entries, those of one phase if the query asks for it: HTML for a browser, JSON for a program. */
async function listEntries(c: Context, options: Deprecations): Promise<Response> {
  const known = await presentOptions(options);
  const wanted = wantedPhase(c);
  const at = known.now();
  const here = below(routedPath(c, `${known.place.basePath}${OWN_DOCS}`), known.place);
  const list = known.entries
    .map((entry) => listed(entry, at, here))
    .filter((entry) => wanted === undefined || entry.phase === wanted);
  const resultInfo = { count: list.length, total_count: known.entries.length };
  return await negotiated(c.req.raw, list, envelopeBody(list, { resultInfo }), here);
}

/** The phase that a request asks for. A parameter without effect is refused: the answer would not be what was asked for. */
function wantedPhase(c: Context): string | undefined {
  checkWholeQuery(c, ["phase"]);
  const phases = c.req.queries("phase") ?? [];
  const wrong = phases.find((one) => !PHASES.includes(one as Phase))?.slice(0, 64);
  const choice = `phase: expected one of ${PHASES.join(", ")}`;
  if (wrong !== undefined)
    throw invalidRequest(`${choice}, got "${wrong}"${didYouMean(wrong, PHASES)}`);
  if (phases.length > 1) throw invalidRequest(`${choice}, got ${phases.length} of them`);
  return phases[0];
}

/** Answers with one entry. */
async function showEntry(c: Context, options: Deprecations): Promise<Response> {
  checkWholeQuery(c, []);
  const known = await presentOptions(options);
  const id = c.req.param("id") ?? "";
  const entry = known.entries.find((one) => one.id === id);
  if (entry === undefined) {
    const ids = known.entries.map((one) => one.id);
    const message = `There is no deprecation "${id.slice(0, 64)}"${didYouMean(id.slice(0, 64), ids)}`;
    throw new ApiError("no_route", { message });
  }
  const here = below(routedPath(c, `${known.place.basePath}${OWN_DOCS}/:id`), known.place);
  const shown = listed(entry, known.now(), here);
  return await negotiated(c.req.raw, [shown], envelopeBody(shown), here);
}

async function presentOptions(options: Deprecations): Promise<Deprecations> {
  return options.present === null ? options : await options.present();
}

async function negotiated(
  request: Request,
  list: readonly ListedEntry[],
  body: unknown,
  { basePath, mountPath }: SignalPlace,
): Promise<Response> {
  const isPage = prefersPage(request.headers.get("accept"));
  const text = isPage
    ? deprecationsPage(list, `${mountPath}${basePath}${OWN_DOCS}`)
    : JSON.stringify(body);
  const tag = (await sha256Hex(text)).slice(0, 32);
  const vary = "accept, accept-encoding";
  if (!isPage)
    return builtText(request, { tag, text }, { vary, "content-type": "application/json" });
  const style = `'sha256-${toBase64(await sha256(STYLE))}'`;
  return builtText(
    request,
    { tag, text },
    {
      vary,
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `default-src 'none'; style-src ${style}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    },
  );
}

function listed(entry: ScheduledEntry, now: number, place: SignalPlace): ListedEntry {
  const { id, row, kind, date, eol, methods, path, fields, where, replacement, rule, mode } = entry;
  return {
    id,
    row,
    kind,
    class: entry.class,
    phase: phase(entry, now),
    mode,
    date,
    eol,
    enforce_from:
      entry.enforceAt === null
        ? null
        : new Date(entry.enforceAt).toISOString().replace(".000Z", "Z"),
    methods,
    path,
    fields,
    where,
    replacement,
    calls: entry.calls ?? [],
    rule,
    documentation_url: documentationUrl(entry, place),
  };
}

/** Whether a client names HTML, and likes it as well as JSON: browsers do, programs do not. */
function prefersPage(accept: string | null): boolean {
  const html = qualityOf(accept, "text/html");
  return html > 0 && html >= qualityOf(accept, "application/json", "application/*", "*/*");
}
