import { firstBytes, inSmallPieces, readUpTo } from "../../http/stream.ts";
import { prepareJob } from "../job/job.ts";
import { followRedirects, headersFor, readBody } from "../static/fetch-document.ts";
import type { CrawlDeps } from "./crawl-deps.ts";
import type { CrawlBody } from "./rows/crawl-schema.ts";
import { CRAWLER } from "./rules/robots.ts";

export const CRAWLER_AGENT: string = `${CRAWLER}/1.0`;

/** Redirects on the way to a file (RFC 9309, section 2.3.1.2). */
const REDIRECTS = 5;

/** A robots.txt or a sitemap; only its first bytes where it is larger. */
export interface FetchedFile {
  readonly status: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The fields of a crawl that let it in: they go to the origin of its start only. */
export type CrawlLogin = Pick<
  CrawlBody,
  "url" | "setExtraHTTPHeaders" | "authenticate" | "cookies"
>;

/** A file of a site. */
export interface WantedFile {
  readonly url: URL;
  /** Bytes. */
  readonly limit: number;
  readonly login: CrawlLogin;
}

/** Loads a file of a site behind the egress guard. @throws ApiError of the rendering rows */
export async function fetchFile(
  { documents, policy }: Pick<CrawlDeps, "documents" | "policy">,
  { url, limit, login }: WantedFile,
  signal: AbortSignal,
): Promise<FetchedFile> {
  const { url: start, setExtraHTTPHeaders, authenticate, cookies = [] } = login;
  const asked = { url: start, setExtraHTTPHeaders, authenticate, userAgent: CRAWLER_AGENT };
  const job = await prepareJob(asked, policy);
  const { answer } = await followRedirects(documents, url, {
    headersFor: (at) => headersFor(job, at, "*/*"),
    cookiesFor: ({ origin }) => (origin === job.url?.origin ? cookies : []),
    allow: policy.allow,
    signal,
    most: REDIRECTS,
  });
  const bytes = await readBody(answer, (body) => firstBytes(body, limit));
  return { status: answer.status, bytes: await unpacked(bytes, limit) };
}

/** Sitemaps are often files that were packed, whatever their headers say. */
async function unpacked(
  bytes: Uint8Array<ArrayBuffer>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const packed = new Blob([bytes]).stream().pipeThrough(inSmallPieces());
  const stream = packed.pipeThrough(new DecompressionStream("gzip"));
  return (await readUpTo(stream, limit).catch(() => null)) ?? new Uint8Array();
}
