import { toBase64, utf8 } from "../../crypto/encoding.ts";
import { ApiError } from "../../http/api-error.ts";
import {
  bytePieces,
  type BytePieces,
  inSmallPieces,
  joinBytes,
  passThrough,
  readUpTo,
} from "../../http/stream.ts";
import type { AllowHosts } from "../../net/allow-hosts.ts";
import { checkUrl } from "../../net/check-url.ts";
import type { HeaderPair, InboundResponse, Transport } from "../../ports.ts";
import type { Cookie } from "../input/body.ts";
import { hasNoDocument, noDocument } from "../input/errors.ts";
import { transportFailure } from "../input/unreached.ts";
import type { Job } from "../job/job.ts";
import { hopOf, type Hop } from "../page/main-document.ts";
import { isPdf, PDF } from "../pdf/pdf-reader.ts";
import { siteCookies } from "./site-cookies.ts";

export interface FetchedDocument {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
  readonly response: Hop;
  readonly redirects: readonly Hop[];
}

/** Bytes of a document, unpacked, and of a PDF. */
const DOCUMENT_LIMIT = 10 * 1024 * 1024;
const PDF_LIMIT = 32 * 1024 * 1024;

/** As many as browsers follow. */
const REDIRECTS = 20;

/**
 * Loads the document of a job without a browser. Every address on the way is checked; extra headers and credentials go
 * to the origin of `url` only.
 *
 * @throws ApiError of the table's rendering rows, as the browser's load does
 */
export async function fetchDocument(
  transport: Transport,
  job: Job & { readonly url: URL },
  { allow, signal, takesPdf, follow, onPart }: FetchOptions,
): Promise<FetchedDocument> {
  const { answer, response, redirects } = await followRedirects(transport, job.url, {
    headersFor: (url) => headersFor(job, url, PAGES),
    // They are credentials: only the origin of `url` gets them.
    cookiesFor: ({ origin }) => (origin === job.url.origin ? (job.body.cookies ?? []) : []),
    allow,
    signal,
    most: REDIRECTS,
    follow,
  });
  const contentType = documentType(answer, takesPdf);
  const limit = isPdf(contentType) ? PDF_LIMIT : DOCUMENT_LIMIT;
  const arriving = bytePieces();
  // A PDF is nothing in part.
  if (!isPdf(contentType))
    onPart?.(() => {
      const bytes = joinBytes(arriving.list);
      return bytes.length === 0 ? null : { bytes, contentType, response, redirects };
    });
  const bytes = await readBody(answer, (body) =>
    readUpTo(onPart === undefined ? body : noting(body, arriving), limit),
  );
  if (bytes === null)
    throw new ApiError("page_too_large", { message: `The page has more than ${limit} bytes` });
  return { bytes, contentType, response, redirects };
}

/** How a document is loaded. */
export interface FetchOptions extends Pick<FollowOptions, "allow" | "signal" | "follow"> {
  /** Whether it may be a PDF. */
  readonly takesPdf: boolean;
  /** Receives a function that returns the document as far as it has come; null before there is anything. @default parts are not offered */
  readonly onPart?: ((soFar: () => FetchedDocument | null) => void) | undefined;
}

/** The same bytes, which are kept as well. */
function noting(
  body: ReadableStream<Uint8Array>,
  arriving: BytePieces,
): ReadableStream<Uint8Array> {
  return passThrough(body, async (read) => {
    const next = await read;
    if (next.value !== undefined) arriving.add(next.value);
    return next;
  });
}

export interface FollowOptions {
  readonly headersFor: (url: URL) => readonly HeaderPair[];
  /** The caller's cookies for an origin. @default none */
  readonly cookiesFor?: (url: URL) => readonly Cookie[];
  readonly allow: AllowHosts;
  readonly signal: AbortSignal;
  /** Redirects. */
  readonly most: number;
  /** Is asked before each; what it throws ends the load. */
  readonly follow?: ((url: URL) => Promise<void>) | undefined;
}

/** The answer at the end of redirects, and the way there. */
export interface FollowedAnswer {
  readonly answer: InboundResponse;
  readonly response: Hop;
  readonly redirects: readonly Hop[];
}

/** Sends a GET and follows its redirects; every address on the way is checked. @throws ApiError of the rendering rows */
export async function followRedirects(
  transport: Transport,
  start: URL,
  { headersFor: headersOf, cookiesFor, allow, signal, most, follow }: FollowOptions,
): Promise<FollowedAnswer> {
  const redirects: Hop[] = [];
  const cookies = siteCookies();
  let url = start;
  for (;;) {
    const cookie = cookies.headerFor(url, cookiesFor?.(url) ?? []);
    const answer = await send(transport, url, withCookie(headersOf(url), cookie), signal);
    const response = hopOf(withoutFragment(url), answer.status, answer.headers);
    const location = valueOf(answer.headers, "location");
    if (location === null || ![301, 302, 303, 307, 308].includes(answer.status))
      return { answer, response, redirects };
    discard(answer);
    cookies.note(url, answer.headers);
    redirects.push(response);
    if (redirects.length > most) throw new ApiError("redirect_loop");
    url = nextUrl(location, url, allow);
    await follow?.(url);
  }
}

/** Adds cookies to headers, behind those that the caller gives as a header. */
function withCookie(headers: readonly HeaderPair[], cookie: string): readonly HeaderPair[] {
  if (cookie === "") return headers;
  const given = headers.find(([name]) => name.toLowerCase() === "cookie")?.[1];
  const others = headers.filter(([name]) => name.toLowerCase() !== "cookie");
  return [...others, ["cookie", given === undefined ? cookie : `${given}; ${cookie}`]];
}

function nextUrl(location: string, from: URL, allow: AllowHosts): URL {
  const url = URL.parse(location, from);
  if (url !== null && url.hash === "") url.hash = from.hash;
  const verdict = checkUrl(url ?? location, allow);
  if (!verdict.ok) throw new ApiError("blocked_url", { message: `A redirect: ${verdict.reason}` });
  return verdict.url;
}

function withoutFragment(url: URL): string {
  return url.href.replace(/#.*$/su, "");
}

/** The `accept` of a page, as browsers send it. */
const PAGES = "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.1";

/** Returns the headers of a request for a job. Those of the caller, and its login, go to the origin of the job only. */
export function headersFor(
  { body, url: asked, headers }: Pick<Job, "body" | "url" | "headers">,
  url: URL,
  accept: string,
): HeaderPair[] {
  const sent = new Map([
    ["accept", accept],
    ["accept-encoding", "gzip"],
    ["user-agent", body.userAgent ?? "causey"],
  ]);
  const referer = (body.gotoOptions ?? body.goToOptions)?.referer;
  if (referer !== undefined) sent.set("referer", referer);
  if (asked?.origin === url.origin) {
    const { authenticate } = body;
    if (authenticate !== undefined) {
      const pair = utf8(`${authenticate.username}:${authenticate.password}`);
      sent.set("authorization", `Basic ${toBase64(pair)}`);
    }
    for (const [name, value] of headers) sent.set(name, value);
    // The caller's own header may name encodings that cannot be decoded here.
    sent.set("accept-encoding", "gzip");
  }
  return [...sent];
}

async function send(
  transport: Transport,
  url: URL,
  headers: readonly HeaderPair[],
  signal: AbortSignal,
): Promise<InboundResponse> {
  try {
    return await transport.send({ method: "GET", url: withoutFragment(url), headers, signal });
  } catch (error) {
    throw transportFailure(error, signal);
  }
}

/** The type of a document that can be read. @throws ApiError `load_aborted` for any other */
function documentType({ status, headers, body }: InboundResponse, takesPdf: boolean): string {
  const type = valueOf(headers, "content-type") ?? "text/html";
  const what = type.split(";", 1)[0]?.trim().toLowerCase() ?? "";
  const isFile = /^\s*attachment\b/iu.test(valueOf(headers, "content-disposition") ?? "");
  if (hasNoDocument(status)) {
    discard({ body });
    throw noDocument(status);
  }
  // Sites have browsers save their PDFs; they can be read nevertheless.
  if (what === PDF && takesPdf) return PDF;
  const isText = /^(?:text\/.+|application\/(?:json|xml|.+\+(?:json|xml))|image\/svg\+xml)$/u.test(
    what,
  );
  if (isText && !isFile) return type;
  discard({ body });
  if (what === PDF)
    throw new ApiError("load_aborted", {
      message:
        "The URL is a PDF, which this server does not read: give rendering() the option readPdf",
    });
  throw new ApiError("load_aborted", {
    message: `The URL is a file (${what.slice(0, 80)}), not a page: pages are HTML or text`,
  });
}

/** Reads the body of an answer, unpacked. @throws ApiError when it breaks off, or came packed in another way */
export async function readBody<T>(
  answer: InboundResponse,
  read: (body: ReadableStream<Uint8Array>) => Promise<T>,
): Promise<T | Uint8Array<ArrayBuffer>> {
  const encoding = (valueOf(answer.headers, "content-encoding") ?? "identity").toLowerCase();
  const format = encoding === "x-gzip" ? "gzip" : encoding;
  if (!["identity", "gzip", "deflate"].includes(format)) {
    discard(answer);
    throw new ApiError("network_error", {
      message: `The page came as "${encoding.slice(0, 40)}", which was not asked for`,
    });
  }
  const { body } = answer;
  if (body === null) return new Uint8Array();
  const packed = body instanceof Uint8Array ? new Blob([new Uint8Array(body)]).stream() : body;
  const unpacked =
    format === "gzip" || format === "deflate"
      ? packed.pipeThrough(inSmallPieces()).pipeThrough(new DecompressionStream(format))
      : packed;
  return read(unpacked).catch((error: unknown) => {
    if (error instanceof ApiError) throw error;
    throw new ApiError("connection_closed", {
      message: "The page did not load: its body broke off",
      cause: error,
    });
  });
}

function discard({ body }: Pick<InboundResponse, "body">): void {
  if (body instanceof ReadableStream) body.cancel().catch(() => undefined);
}

function valueOf(headers: readonly HeaderPair[], name: string): string | null {
  return headers.find(([known]) => known.toLowerCase() === name)?.[1] ?? null;
}
