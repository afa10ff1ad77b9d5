import * as v from "valibot";
import type { RateLimit } from "../../work/rate-window.ts";
import { invalid, withoutEffect } from "./source-errors.ts";

type Opt<T> = T | undefined;

/** `public_endpoint_params` as a client may send it. */
export interface PublicEndpointParams {
  readonly enabled?: Opt<boolean>;
  /** Origins whose pages may ask; a bare host means `https://`, `*` means all. */
  readonly authorized_hosts?: Opt<readonly string[]>;
  /** Our extension: lets in requests without `Origin`, which no browser's page sends. @default false */
  readonly requests_without_origin?: Opt<boolean>;
  readonly search_endpoint?: Opt<{ readonly disabled?: Opt<boolean> }>;
  readonly chat_completions_endpoint?: Opt<{ readonly disabled?: Opt<boolean> }>;
  /** No effect here: the server's address is the endpoint's. Others than these are refused. */
  readonly custom_domains?: readonly string[] | null | undefined;
  readonly default_domain_enabled?: Opt<boolean>;
  readonly mcp?: Opt<{
    readonly disabled?: Opt<boolean>;
    readonly description?: Opt<string | null>;
  }>;
  readonly rate_limit?: Opt<{
    readonly period_ms?: Opt<number>;
    /** Requests of one address in a period. */
    readonly requests?: Opt<number>;
    /** Our extension: requests of all addresses together. @default ten times `requests` */
    readonly total_requests?: Opt<number>;
    readonly technique?: Opt<"fixed" | "sliding">;
  }>;
}

/** A public endpoint as it is stored and shown, with nothing left open. */
export type PublicEndpoint = {
  readonly enabled: boolean;
  readonly authorized_hosts: readonly string[];
  readonly requests_without_origin: boolean;
  readonly search_endpoint: { readonly disabled: boolean };
  readonly chat_completions_endpoint: { readonly disabled: boolean };
  readonly mcp: { readonly disabled: true };
  readonly rate_limit: {
    readonly period_ms: number;
    readonly requests: number;
    readonly total_requests: number;
    readonly technique: "fixed" | "sliding";
  };
};

const whole = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const routeParams = v.object({ disabled: v.optional(v.boolean()) });

/** Checks {@link PublicEndpointParams}. */
export const publicEndpointParams: v.GenericSchema<unknown, PublicEndpointParams> = v.object({
  enabled: v.optional(v.boolean()),
  authorized_hosts: v.optional(
    v.pipe(v.array(v.pipe(v.string(), v.maxLength(255))), v.maxLength(50)),
  ),
  requests_without_origin: v.optional(v.boolean()),
  search_endpoint: v.optional(routeParams),
  chat_completions_endpoint: v.optional(routeParams),
  custom_domains: v.nullish(v.array(v.string())),
  default_domain_enabled: v.optional(v.boolean()),
  mcp: v.optional(
    v.object({ disabled: v.optional(v.boolean()), description: v.nullish(v.string()) }),
  ),
  rate_limit: v.optional(
    v.object({
      period_ms: v.optional(whole(1_000, 3_600_000)),
      requests: v.optional(whole(1, 10_000)),
      total_requests: v.optional(whole(1, 100_000)),
      technique: v.optional(v.picklist(["fixed", "sliding"])),
    }),
  ),
});

/** The hosted API's: 120 requests a minute. */
const REQUESTS = 120;
const PERIOD_MS = 60_000;
/** How many addresses may use up their limits at a time, unless `total_requests` is set. */
const ADDRESSES = 10;

/** Completes the settings of a public endpoint. Throws for malformed hosts, and for settings without effect. */
export function publicEndpoint(params: PublicEndpointParams): PublicEndpoint {
  checkHosted(params);
  const { rate_limit: rate = {} } = params;
  const requests = rate.requests ?? REQUESTS;
  const endpoint: PublicEndpoint = {
    enabled: params.enabled === true,
    authorized_hosts: [...new Set((params.authorized_hosts ?? []).map(authorizedHost))],
    requests_without_origin: params.requests_without_origin === true,
    search_endpoint: { disabled: params.search_endpoint?.disabled === true },
    chat_completions_endpoint: { disabled: params.chat_completions_endpoint?.disabled === true },
    mcp: { disabled: true },
    rate_limit: {
      period_ms: rate.period_ms ?? PERIOD_MS,
      requests,
      total_requests: rate.total_requests ?? requests * ADDRESSES,
      technique: rate.technique ?? "fixed",
    },
  };
  if (
    endpoint.enabled &&
    endpoint.authorized_hosts.length === 0 &&
    !endpoint.requests_without_origin
  )
    throw invalid(
      "public_endpoint_params.authorized_hosts",
      'Name the sites whose pages may ask, such as "https://docs.example.com"; nobody could ask without them',
    );
  return endpoint;
}

/** Throws for what only the hosted API has, unless it asks for what is so anyway. */
function checkHosted({
  mcp = {},
  custom_domains: domains,
  default_domain_enabled: isDefault = true,
}: PublicEndpointParams): void {
  if (mcp.disabled === false || mcp.description != null)
    throw withoutEffect(
      "public_endpoint_params.mcp",
      "MCP clients ask with a token, at the instance's own endpoint",
    );
  if ((domains ?? []).length > 0 || !isDefault)
    throw withoutEffect(
      "public_endpoint_params.custom_domains",
      "the endpoint has the addresses of the server; point a domain at that",
    );
}

/** Every origin. */
const ALL = "*";

function authorizedHost(text: string): string {
  if (text === ALL) return ALL;
  const written = /^https?:\/\//iu.test(text) ? text : `https://${text}`;
  const url = URL.parse(written);
  // A path or a login in it would look like a bound that an origin cannot have, and a star like many hosts.
  const isOrigin = url !== null && `${url.origin}/` === url.href && url.hostname !== "";
  if (isOrigin && !url.hostname.includes("*")) return url.origin;
  throw invalid(
    "public_endpoint_params.authorized_hosts",
    `"${text.slice(0, 64)}" is not an origin: write scheme, host and port, such as "https://docs.example.com", or "*"`,
  );
}

/** Whether a page of an origin may ask; `null` is a request without one. */
export function mayAsk(endpoint: PublicEndpoint, origin: string | null): boolean {
  if (origin === null) return endpoint.requests_without_origin;
  return endpoint.authorized_hosts.some((host) => host === ALL || host === origin);
}

/** Returns the limits of one address and of all together. */
export function visitLimitsOf({ rate_limit: rate }: PublicEndpoint): {
  readonly each: RateLimit;
  readonly all: RateLimit;
} {
  const window = { interval: rate.period_ms, technique: rate.technique };
  return {
    each: { ...window, limit: rate.requests },
    all: { ...window, limit: rate.total_requests },
  };
}
