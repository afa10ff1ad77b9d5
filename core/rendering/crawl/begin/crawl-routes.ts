import type { Context, Hono, MiddlewareHandler } from "hono";
import * as v from "valibot";
import { utf8 } from "../../../crypto/encoding.ts";
import { ApiError, notFound } from "../../../http/api-error.ts";
import { readJson } from "../../../http/fields/body.ts";
import { envelope, envelopeBody } from "../../../http/envelope.ts";
import { noteUnknownFields } from "../../../http/fields/unknown-fields.ts";
import { checkQuery, readQuery } from "../../../http/fields/query.ts";
import { pulledStream } from "../../../http/stream.ts";
import { traceparentOf } from "../../../trace/trace-context.ts";
import { beginCrawl } from "./begin-crawl.ts";
import { crawlAt, crawlKind } from "../crawl-actor.ts";
import { workOwner } from "../../../auth/authorize.ts";
import { type CrawlDeps, crawlWork } from "../crawl-deps.ts";
import { crawlListAt, crawlListKind, type ListedCrawl } from "../rows/crawl-list.ts";
import { CONTENT_PART } from "../rows/crawl-pages.ts";
import { type CrawlRead, type CrawlRecord, recordStatuses } from "../rows/crawl-records.ts";
import { type CrawlFormat, crawlSchema } from "../rows/crawl-schema.ts";
import { hostTurnsKind } from "../host-turns.ts";
import { llmsText } from "../llms-text.ts";
import { mapSchema, mapSite } from "../map-site.ts";

/** Bytes of a body. */
const BODY = 1024 * 1024;

const whole = (fallback: number, min: number, max: number) =>
  v.pipe(
    v.optional(v.string(), String(fallback)),
    v.regex(/^\d{1,15}$/u, `expected a whole number from ${min} to ${max}`),
    v.transform(Number),
    v.minValue(min, `expected a whole number from ${min} to ${max}`),
    v.maxValue(max, `expected a whole number from ${min} to ${max}`),
  );
const MOST = Number.MAX_SAFE_INTEGER;
const cacheTTL = whole(5, 0, 86_400);
const readSchema = v.object({
  cacheTTL,
  cursor: whole(0, 0, MOST),
  limit: whole(1000, 1, 100_000),
  status: v.optional(v.picklist(recordStatuses)),
});
const listSchema = v.object({
  cursor: v.optional(whole(0, 0, MOST)),
  limit: whole(20, 1, 100),
  status: v.optional(
    v.picklist([
      "running",
      "completed",
      "errored",
      "cancelled_by_user",
      "cancelled_due_to_timeout",
      "cancelled_due_to_limits",
    ]),
  ),
});

/** Registers the crawls below a prefix; `guard` is the middleware of each route. */
export function crawlRoutes(
  app: Hono,
  prefixes: readonly string[],
  deps: CrawlDeps,
  guard: readonly [MiddlewareHandler, MiddlewareHandler],
): void {
  const { actors } = deps.platform;
  for (const kind of [crawlKind(deps), crawlListKind, hostTurnsKind]) actors.define(kind);
  for (const prefix of prefixes) {
    app.post(`${prefix}/map`, ...guard, async (c) => {
      checkQuery(c, []);
      const body = await readJson(c, mapSchema, { limit: BODY, platform: deps.platform });
      return envelope(await mapSite(crawlWork(deps, workOwner(c)), body, c.req.raw.signal));
    });
  }
  for (const root of prefixes.map((prefix) => `${prefix}/crawl`)) {
    app.post(root, ...guard, async (c) => {
      readQuery(c, v.object({ cacheTTL }));
      return envelope(await createCrawl(c, deps));
    });
    app.get(root, ...guard, async (c) => envelope(await listCrawls(c, deps)));
    app.get(`${root}/:job_id`, ...guard, async (c) => {
      const { cursor, limit, status = null } = readQuery(c, readSchema);
      const crawl = crawlAt(actors, accountOf(c), jobId(c));
      const read = await crawl.read({ cursor, limit, status });
      if (read === null) throw noCrawl(jobId(c));
      return crawlResponse(jobId(c), read, (...part) => crawl.contentPart(...part));
    });
    app.get(`${root}/:job_id/llms.txt`, ...guard, async (c) => {
      checkQuery(c, []);
      const crawl = crawlAt(actors, accountOf(c), jobId(c));
      const query = { cursor: 0, limit: 1, status: null };
      if ((await crawl.read(query)) === null) throw noCrawl(jobId(c));
      return streamed(
        llmsText((part) => crawl.read(part)),
        "text/plain; charset=utf-8",
      );
    });
    app.delete(`${root}/:job_id`, ...guard, async (c) => {
      checkQuery(c, []);
      const status = await crawlAt(actors, accountOf(c), jobId(c)).cancel();
      if (status === null) throw noCrawl(jobId(c));
      const message =
        status === "cancelled_by_user"
          ? "The crawl job was cancelled"
          : `The crawl job had ended before: its status is ${status}`;
      return envelope({ job_id: jobId(c), message });
    });
  }
}

async function createCrawl(c: Context, deps: CrawlDeps): Promise<string> {
  const { platform } = deps;
  const body = await readJson(c, crawlSchema, { limit: BODY, platform });
  const { raw } = c.req;
  const trace = traceparentOf(raw);
  const { id, notes } = await beginCrawl(crawlWork(deps, workOwner(c)), body, {
    account: accountOf(c),
    signal: raw.signal,
    trace,
  });
  noteUnknownFields(c, notes);
  return id;
}

async function listCrawls(c: Context, { platform }: CrawlDeps): Promise<unknown> {
  const { cursor, limit, status } = readQuery(c, listSchema);
  const list = crawlListAt(platform.actors, accountOf(c));
  const crawls = await list.list(limit + 1, cursor ?? null, status ?? null);
  const shown = crawls.slice(0, limit);
  const last = shown.at(-1);
  return {
    jobs: shown.map(shownCrawl),
    ...(crawls.length > limit && last !== undefined ? { cursor: last.created } : {}),
  };
}

function shownCrawl({ created, ended, ...crawl }: ListedCrawl): Record<string, unknown> {
  return {
    ...crawl,
    created_at: new Date(created).toISOString(),
    ended_at: ended === null ? null : new Date(ended).toISOString(),
  };
}

/** Returns the account of a path, whose form `authorize` has checked. */
function accountOf(c: Context): string {
  return c.req.param("account_id") ?? "";
}

function jobId(c: Context): string {
  const id = c.req.param("job_id") ?? "";
  if (!/^[\da-f-]{36}$/u.test(id)) throw noCrawl(id);
  return id;
}

const noCrawl = (id: string): ApiError => notFound("crawl job", id);

type ContentPart = (seq: number, format: CrawlFormat, part: number) => Promise<Uint8Array | null>;

/**
 * Streams the answer as it is read: contents are stored as JSON texts, so that none of them has to be held in memory as a
 * whole, parsed or serialised.
 */
function crawlResponse(id: string, read: CrawlRead, contentPart: ContentPart): Response {
  return streamed(piecesOf(id, read, contentPart), "application/json; charset=utf-8");
}

function streamed(pieces: AsyncGenerator<Uint8Array, void>, type: string): Response {
  const stream = pulledStream(
    async () => {
      const { done = false, value } = await pieces.next();
      return done || value === undefined ? { done: true } : { done: false, value };
    },
    async () => void (await pieces.return(undefined)),
  );
  return new Response(stream, { headers: { "content-type": type } });
}

async function* piecesOf(
  id: string,
  { records, cursor, browserMs, ...counters }: CrawlRead,
  contentPart: ContentPart,
): AsyncGenerator<Uint8Array, void> {
  const result = {
    id,
    ...counters,
    browserSecondsUsed: browserMs / 1000,
    ...(cursor === null ? {} : { cursor }),
  };
  // The other members of the envelope follow its result.
  const { result: _result, ...rest } = envelopeBody(null);
  yield utf8(`{"result":${JSON.stringify(result).slice(0, -1)},"records":[`);
  for (const [index, record] of records.entries()) {
    yield utf8((index === 0 ? "" : ",") + recordHead(record));
    for (const format of ["html", "markdown", "json"] as const) {
      const size = record.sizes[format];
      if (size === undefined) continue;
      yield utf8(`,"${format}":`);
      for (let part = 0; part * CONTENT_PART < size; part++) {
        const data = await contentPart(record.seq, format, part);
        if (data === null) throw new ApiError("not_found", { message: "The crawl has expired" });
        yield data;
      }
    }
    yield utf8("}");
  }
  yield utf8(`]},${JSON.stringify(rest).slice(1)}`);
}

/** Returns a record without the end of its object. */
function recordHead({ seq: _seq, sizes: _sizes, ...shown }: CrawlRecord): string {
  return JSON.stringify(shown).slice(0, -1);
}
