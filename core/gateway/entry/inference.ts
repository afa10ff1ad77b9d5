import type { Context } from "hono";
import { checkAccountId } from "../../auth/accounts.ts";
import { isKeyShaped } from "../../auth/token-format.ts";
import { wholeRequest } from "../../http/whole-request.ts";
import { bearerOf, tokenOf } from "../call/gateway-token.ts";
import type { Call } from "../call/call.ts";
import { type GatewayCaller, HOST } from "../call/caller.ts";
import { GATEWAY_ID, gatewayHeader } from "../call/controls.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { headerPairs, headerValue } from "../wire/header-hygiene.ts";
import { type InferencePath, inferenceStep } from "../providers/inference-step.ts";
import { unifiedPaths } from "../providers/unified-step.ts";
import type { Hono } from "hono";
import { type Auth, requirePermission } from "../../auth/authorize.ts";
import type { BodyBudget } from "../../work/body-budget.ts";
import type { Platform } from "../../ports.ts";
import type { Forward } from "../call/forward.ts";
import type { GatewayAccess } from "./access.ts";
import type { GatewayAdmission } from "./admission.ts";
import type { DeliverAnswer } from "./delivery.ts";
import { requestBody } from "./request-body.ts";
import { DEFAULT_GATEWAY } from "../account/settings/settings.ts";
import { callError } from "./call-error.ts";
import type { ModelPools } from "../routing/pools/model-pools.ts";

/** The hosted service's status there (docs/compatibility.md). */
const RUN_BLOCKED = 422;

/** Below which the REST inference API lives. */
export const INFERENCE_ROOT = "/accounts/:account_id/ai";

const entry = { method: "POST", route: `${INFERENCE_ROOT}/*` };

export interface InferenceParts {
  readonly platform: Pick<Platform, "system">;
  /** Finds out who calls. */
  readonly auth: Auth;
  readonly access: Pick<GatewayAccess, "callerOf">;
  readonly admission: Pick<GatewayAdmission, "admit">;
  readonly answer: Forward;
  /** The operator's names for models. */
  readonly pools: ModelPools;
  readonly deliver: DeliverAnswer;
  readonly bodies: BodyBudget;
}

/**
 * Registers the REST inference API (docs/compatibility.md): models by an API token with the permission "AI
 * Gateway Run", through the gateway that the header `cf-aig-gateway-id` names.
 */
export function inferenceRoutes(app: Hono, deps: InferenceParts): void {
  const answer = async (c: Context, path: InferencePath, model?: string): Promise<Response> => {
    const account = c.req.param("account_id") ?? "";
    const given = headerPairs(c.req.raw);
    const name = { account, gateway: gatewayHeader(given, GATEWAY_ID) ?? DEFAULT_GATEWAY };
    const caller = await callerOf(c.req.raw, name, deps);
    checkAccountId(account);
    const raw = await wholeRequest(c.req);
    const headers = headerPairs(raw);
    const held = deps.bodies.hold();
    const { system } = deps.platform;
    let call: Call | undefined;
    try {
      const room = { system, hold: () => held, mayPass: () => false, readsForm: () => true };
      const body = await requestBody(raw, headers, null, room);
      const step = inferenceStep(path, { body, headers, model, names: deps.pools(name) });
      // The API token was checked: the gateway asks for no second one.
      const admitted = await deps.admission.admit(name, headers, raw.signal, { caller, entry });
      const token = tokenOf(headerValue(headers, "authorization"));
      const blocked = path === "run" ? { blockedStatus: RUN_BLOCKED } : {};
      call = { ...admitted, token, held, ...blocked };
      return await deps.deliver(await deps.answer(step, 0, true, call));
    } catch (error) {
      throw callError(call, error);
    } finally {
      held.release();
    }
  };
  for (const path of unifiedPaths) {
    app.post(`${INFERENCE_ROOT}/v1/${path}`, (c) => answer(c, path));
  }
  app.post(`${INFERENCE_ROOT}/run`, (c) => answer(c, "run"));
  app.post(`${INFERENCE_ROOT}/run/:model{.+}`, (c) => answer(c, "run", c.req.param("model") ?? ""));
}

/** Returns the caller, by the API token in `Authorization`; throws 401 and 403. */
async function callerOf(
  request: Request,
  name: GatewayName,
  { auth, access }: InferenceParts,
): Promise<GatewayCaller> {
  const token = bearerOf(request.headers.get("authorization"));
  const isKey = token !== null && isKeyShaped(token);
  // The request counts where it is admitted.
  const key = isKey ? await access.callerOf(token, name, false, request) : null;
  if (key !== null) return key;
  return callerByToken(auth, request, name);
}

/** Returns the caller whose API token may run models through a gateway; throws 401 and 403. */
export async function callerByToken(
  auth: Auth,
  request: Request,
  { account, gateway }: GatewayName,
): Promise<GatewayCaller> {
  if (auth === "off") return HOST;
  const asked = { permission: "AI Gateway Run", account, gateway } as const;
  const { kind, id } = await requirePermission(auth, request, asked);
  return { kind, id };
}
