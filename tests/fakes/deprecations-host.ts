import { Hono } from "hono";
import { type DeprecationsOptions, deprecationsMiddleware } from "../../core/deprecations/mod.ts";
import { closeRoutes } from "../../core/http/routes.ts";
import { fakePlatform } from "./auth-platform.ts";

/** Where the API is. */
export const ROOT = "/client/v4";
export const platform = fakePlatform({ now: Date.UTC(2026, 5, 1) });

/** An API below the root, closed as all of ours are, with the middleware before it. */
export function host(
  options: Partial<DeprecationsOptions> = {},
  mount: (api: Hono) => void = () => undefined,
): Hono {
  const api = new Hono();
  mount(api);
  closeRoutes(api, ["/*"], "api", platform);
  const app = new Hono();
  app.use(`${ROOT}/*`, deprecationsMiddleware({ platform, ...options }));
  app.route(ROOT, api);
  return app;
}

export interface Refusal {
  readonly result: null;
  readonly success: boolean;
  readonly errors: readonly {
    readonly code: number;
    readonly message: string;
    readonly documentation_url?: string;
  }[];
  readonly messages: readonly { readonly code: number; readonly message: string }[];
  readonly deprecation: Record<string, unknown>;
}

export const body = async (response: Response): Promise<Refusal> =>
  (await response.json()) as Refusal;
