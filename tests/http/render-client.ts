import { inject } from "vitest";
import { itUnless } from "../config/it-unless.ts";

const base = inject("baseUrl");
const token = inject("token");
const account = inject("accountId");

/** An answer of the rendering routes, as far as tests look at it. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly body: {
    result: unknown;
    success: boolean;
    errors: { code: number; message: string }[];
    meta?: {
      status?: number;
      render?: "static" | "browser";
      title?: string;
      finalUrl?: string;
      headers?: Record<string, string>;
      redirectChain?: { url: string; status: number }[];
      failedFiles?: { url: string; reason: string }[];
      failedFilesTotal?: number;
      refusedNavigations?: { url: string; reason: string }[];
    };
  };
}

/** Sends a body to a path of the account. */
export async function post(
  path: string,
  body: unknown,
  init: RequestInit = {},
  server: string = base,
): Promise<Answer> {
  const response = await fetch(`${server}/client/v4/accounts/${account}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...init,
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  const isJson = response.headers.get("content-type")?.includes("application/json") === true;
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    body: isJson ? JSON.parse(new TextDecoder().decode(bytes)) : {},
  };
}

/** Calls one operation. */
export const render = (name: string, body: unknown, init?: RequestInit): Promise<Answer> =>
  post(`browser-rendering/${name}`, body, init);

const probe = await render("content", { html: "<p>probe</p>" });
/** Why this runtime has no browser here. */
export const missingBrowser: string | undefined =
  probe.status === 503 ? probe.body.errors[0]?.message : undefined;
/** A test that is skipped, with its reason, without a browser. */
export const withBrowser: ReturnType<typeof itUnless> = itUnless(missingBrowser);
