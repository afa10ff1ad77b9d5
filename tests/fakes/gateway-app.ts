import { openPlatform } from "#platform";
import type { Hono } from "hono";
import { eventually } from "../cases/eventually.ts";
import type { Authenticate } from "../../core/auth/authorize.ts";
import type { GatewayOptions } from "../../core/gateway/entry/options.ts";
import { type GatewayParts, gatewayParts } from "../../core/gateway/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { type FakeTransport, fakeTransport } from "./gateway-transport.ts";

/** An API token with every permission. */
export const API_TOKEN = "api-token-for-tests";
/** A token of the declared gateway `closed`. */
export const GATEWAY_TOKEN = "gateway-token-for-tests";

const auth: Authenticate = (request) => {
  const token = request.headers.get("authorization");
  const known: Record<string, "*" | "AI Gateway Read"> = {
    [`Bearer ${API_TOKEN}`]: "*",
    "Bearer read-only": "AI Gateway Read",
  };
  const permission = known[token ?? ""];
  return Promise.resolve(
    permission === undefined
      ? null
      : { id: "t", kind: "token", grants: [{ permissions: [permission], accounts: ["acme"] }] },
  );
};

/** A gateway over the platform of the running runtime, with a fake network. */
export interface GatewayUnderTest {
  readonly app: Hono;
  readonly transport: FakeTransport;
  readonly platform: Platform;
  readonly aiBinding: GatewayParts["aiBinding"];
  /** Sends a request below `/v1/acme/`. */
  send(path: string, init?: RequestInit & { token?: string | null }): Promise<Response>;
  /** Calls the management API below `/accounts/{account}/ai-gateway`. @default account "acme" */
  manage(
    path: string,
    init?: RequestInit,
    account?: string,
  ): Promise<{ status: number; body: Answer }>;
  manageRaw(path: string, init?: RequestInit, account?: string): Promise<Response>;
  /** Creates a gateway with {@link requiredSettings} and others; throws what is said against it. */
  create(id: string, settings?: object): Promise<void>;
  /** Log rows of a gateway once there are `count`, newest first. */
  logs(gateway: string, count: number): Promise<Record<string, unknown>[]>;
  /** The rows of a gateway with this event id once there are `count`. */
  rowsOf(gateway: string, event: string, count: number): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** The v4 envelope. */
export interface Answer {
  readonly success: boolean;
  readonly result: never;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly messages?: readonly { readonly code: number; readonly message: string }[];
  readonly result_info?: Readonly<Record<string, number>>;
}

/** What the creation of a gateway has to say: no token, no check of who uses its keys, a log, no cache, no limit. */
export const requiredSettings = {
  authentication: false,
  stored_keys_for_anonymous: true,
  cache_invalidate_on_update: false,
  cache_ttl: 0,
  collect_logs: true,
  rate_limiting_interval: null,
  rate_limiting_limit: null,
};

/** A gateway on which strangers may use the operator's keys, too. */
export const openToAll = { authentication: false, storedKeysForAnonymous: true };

/** Gateways `open` (no authentication) and `closed` (token) exist from the start. */
export async function gatewayUnderTest(
  more: Partial<GatewayOptions> = {},
  ports: Partial<Platform> = {},
): Promise<GatewayUnderTest> {
  const real = await openPlatform();
  const transport = fakeTransport();
  const platform: Platform = { ...real, transport, ...ports };
  const options: GatewayOptions = {
    platform,
    auth,
    gateways: { open: openToAll, closed: { tokens: [GATEWAY_TOKEN] } },
    ...more,
  };
  const { gateway: app, management, aiBinding } = gatewayParts(options);
  const manageRaw = async (
    path: string,
    init: RequestInit = {},
    account = "acme",
  ): Promise<Response> => {
    const headers = {
      authorization: `Bearer ${API_TOKEN}`,
      ...(init.headers as Record<string, string>),
    };
    return management.fetch(
      new Request(`http://gateway.test/accounts/${account}/ai-gateway${path}`, {
        ...init,
        headers,
      }),
    );
  };
  const manage = async (
    path: string,
    init: RequestInit = {},
    account?: string,
  ): Promise<{ status: number; body: Answer }> => {
    const response = await manageRaw(path, init, account);
    return { status: response.status, body: (await response.json()) as Answer };
  };
  const rows = async (
    gatewayId: string,
    query: string,
    count: number,
  ): Promise<Record<string, unknown>[]> => {
    let found: Record<string, unknown>[] = [];
    await eventually(async () => {
      const { body } = await manage(`/gateways/${gatewayId}/logs${query}`);
      found = body.result as Record<string, unknown>[];
      return found.length >= count;
    }, `${count} log rows`);
    return found;
  };
  return {
    app,
    transport,
    platform,
    aiBinding,
    manage,
    manageRaw,
    async create(id, settings = {}) {
      const init = jsonInit({ id, ...requiredSettings, ...settings });
      const { status, body } = await manage("/gateways", { method: "POST", ...init });
      if (status !== 200) throw new Error(JSON.stringify(body.errors));
    },
    async send(path, { token = null, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (token !== null) headers.set("cf-aig-authorization", `Bearer ${token}`);
      const url = `http://gateway.test/v1/acme/${path}`;
      return app.fetch(new Request(url, { method: "POST", ...init, headers }));
    },
    logs: (gatewayId, count) => rows(gatewayId, "", count),
    rowsOf: (gatewayId, event, count) =>
      rows(gatewayId, `?filters.key=event_id&filters.operator=eq&filters.value=${event}`, count),
    close: () => real.close(),
  };
}

/** The body and headers of a JSON request. */
export function jsonInit(value: unknown, headers: Record<string, string> = {}): RequestInit {
  return {
    body: JSON.stringify(value),
    headers: { "content-type": "application/json", ...headers },
  };
}

/** A chat request as the official client sends it. */
export const chat = { model: "gpt-test", messages: [{ role: "user", content: "hello there" }] };
