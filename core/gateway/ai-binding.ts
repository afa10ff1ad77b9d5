import { ApiError } from "../http/api-error.ts";
import { errorResponse } from "../http/envelope.ts";
import { admit } from "./admit.ts";
import { gatewayDeps, type GatewayOptions } from "./deps.ts";
import { respond } from "./respond.ts";
import { forwardSteps, toSteps } from "./universal.ts";

/** Options of {@link createAiBinding}. */
export interface AiBindingOptions extends GatewayOptions {
  /** @default "default" */
  readonly gateway?: string;
  /** @default "local" */
  readonly accountId?: string | undefined;
}

/** What `ai-gateway-provider` takes as its `binding`. */
export interface AiBinding {
  /** Runs the steps of a universal request in this process; resolves to the provider's raw answer. */
  run(steps: unknown, options?: { readonly signal?: AbortSignal }): Promise<Response>;
}

/**
 * Makes a gateway usable in process, without a network and without a gateway token: the caller is the
 * operator's own code. Pass it as `createAiGateway({ binding })` of `ai-gateway-provider`.
 */
export function createAiBinding(options: AiBindingOptions): AiBinding {
  const deps = gatewayDeps(options);
  const name = { account: options.accountId ?? "local", gateway: options.gateway ?? "default" };
  return {
    async run(steps, { signal = new AbortController().signal } = {}) {
      try {
        const call = await admit(name, [], signal, deps, { trusted: true });
        return respond(await forwardSteps(toSteps(steps), call, deps), true);
      } catch (error) {
        if (error instanceof ApiError) return errorResponse(error, "gateway");
        throw error;
      }
    },
  };
}
