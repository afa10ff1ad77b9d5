import type { RequestEffect } from "../../http/response-note.ts";

/** One answered request, as the access log shows it. It contains neither secrets nor bodies. */
export type RequestRow = {
  /** Unix ms at which it came. */
  readonly time: number;
  readonly id: string;
  /** The part of the platform that answered: `gateway`, `rendering` … */
  readonly part: string;
  readonly method: string;
  /** The route's template: paths hold names that callers chose, queries hold tokens. */
  readonly route: string;
  readonly status: number;
  /** Milliseconds until the answer was complete, or given to the server. */
  readonly ms: number;
  /** Milliseconds until a streamed answer began. */
  readonly firstMs?: number | undefined;
  /** Bytes of the answer's body, where its maker knows them. */
  readonly bytes?: number | undefined;
  /** The first digits of the SHA-256 of the credential; at a public endpoint the page's origin and the network of its visitor. */
  readonly caller?: string | undefined;
  /** The account that the path names, if it is another than the installation's. */
  readonly account?: string | undefined;
  /** The id of the token that the request was authenticated with; known where {@link RequestRow.deprecation} is. */
  readonly token?: string | undefined;
  readonly tokenName?: string | undefined;
  /** The program that sent the request; known where {@link RequestRow.deprecation} is. */
  readonly client?: { readonly name: string; readonly version: string } | undefined;
  /** Name and message of the error. */
  readonly error?: string | undefined;
  readonly reason?: string | undefined;
  /** The entries of the table of deprecations that the request uses, with a space between them. */
  readonly deprecation?: string | undefined;
  /** An effect that the console offers to repeat; never logged, because callers choose these names. */
  readonly made?: RequestEffect | undefined;
};

const verbs = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);

/** The method; all unknown methods count as one. */
export function verbOf(method: string): string {
  return verbs.has(method) ? method : "other";
}

/** Whether it is a successful health check, which is not worth listing. */
export function isProbe({ route, status }: RequestRow): boolean {
  return status < 400 && (route === "/healthz" || route === "/readyz");
}
