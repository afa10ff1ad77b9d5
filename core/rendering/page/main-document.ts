import type { ApiError } from "../../http/api-error.ts";
import type { CdpEvent } from "../cdp/cdp.ts";
import { proxyFailure } from "../input/errors.ts";

/** One answer on the way to a document: its headers in lower case, without credentials and without those of the transport. */
export interface Hop {
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer of the site to the load of the page itself. */
export interface MainResponse extends Hop {
  readonly type: string;
  /** The egress proxy's reason when it did not reach the site. */
  readonly proxyError: ApiError | null;
}

/** The way to one document: the redirects, oldest first, and the answer at the end. */
export interface Load {
  readonly redirects: readonly Hop[];
  readonly response: MainResponse | null;
}

/** The documents of a page's main frame. */
export interface MainDocument {
  /** Feeds an event of the page's own target. */
  see(event: CdpEvent): void;
  /** The load of the document that is shown. */
  load(): Load;
  /** The last answer, whether or not its document came to be shown. */
  lastResponse(): MainResponse | null;
}

/** Loads that are remembered: a page may navigate without end. */
const LOADS = 8;

const none: Load = { redirects: [], response: null };

/** Follows which documents the main frame loads and which of them it shows. */
export function followDocument(mainFrame: () => string): MainDocument {
  const loads = new Map<string, Load>();
  let shown: string | null = null;
  let last: MainResponse | null = null;
  const note = (loader: string, load: Load): void => {
    loads.set(loader, load);
    last = load.response;
    for (const [id] of loads)
      if (loads.size > LOADS && id !== shown && id !== loader) loads.delete(id);
  };
  return {
    see({ method, params }) {
      if (method === "Page.frameNavigated") {
        const frame = params["frame"] as { id: string; loaderId: string };
        if (frame.id === mainFrame()) shown = frame.loaderId;
        return;
      }
      if (params["type"] !== "Document" || params["frameId"] !== mainFrame()) return;
      const loader = String(params["loaderId"]);
      const load = loads.get(loader) ?? none;
      if (method === "Network.requestWillBeSent" && params["redirectResponse"] !== undefined)
        note(loader, { ...load, redirects: [...load.redirects, hop(params["redirectResponse"])] });
      if (method === "Network.responseReceived")
        note(loader, { ...load, response: responseOf(params["response"]) });
    },
    load: () => loads.get(shown ?? "") ?? none,
    lastResponse: () => last,
  };
}

interface RawResponse {
  readonly url: string;
  readonly status: number;
  readonly mimeType: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers that hold credentials, or that are about the connection and not the document. */
const omitted =
  /^(?:set-cookie2?|authorization|www-authenticate|connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/u;

function hop(raw: unknown): Hop {
  const { url, status, headers } = raw as RawResponse;
  return hopOf(url, status, Object.entries(headers));
}

/** Characters of one answer's headers: a site may send any number, and a chain has many answers. */
const HEADERS_LIMIT = 16_384;

/** An answer as callers see it; repeated headers are joined by newlines, as DevTools does. */
export function hopOf(
  url: string,
  status: number,
  headers: Iterable<readonly [name: string, value: string]>,
): Hop {
  const kept = new Map<string, string>();
  let left = HEADERS_LIMIT;
  for (const [given, value] of headers) {
    const name = given.toLowerCase();
    const before = kept.get(name);
    if (omitted.test(name) || left < name.length + value.length) continue;
    left -= name.length + value.length;
    kept.set(name, before === undefined ? value : `${before}\n${value}`);
  }
  return { url, status, headers: Object.fromEntries(kept) };
}

function responseOf(raw: unknown): MainResponse {
  const { mimeType, headers } = raw as RawResponse;
  const said = Object.entries(headers).find(([name]) => name.toLowerCase() === "proxy-status");
  return { ...hop(raw), type: mimeType, proxyError: proxyFailure(said?.[1] ?? "") };
}
