import { ApiError } from "../../http/api-error.ts";
import { errorResponse, type ErrorShape } from "../../http/envelope.ts";
import type { HeaderPair } from "../../ports.ts";
import type { GatewayAdmission, AdmitOptions } from "./admission.ts";
import { OPERATOR } from "../call/caller.ts";
import type { DeliverAnswer } from "./delivery.ts";
import type { GatewayName } from "../account/settings/gateway-name.ts";
import { type ResumableRuns, resumeRun } from "./resume-run.ts";
import { callError } from "./call-error.ts";
import { forwardSteps, type StepsParts, toSteps } from "./universal.ts";

/** Options of one {@link AiBinding.run}. */
export interface AiRunOptions {
  /** Aborting it ends the provider's request. */
  readonly signal?: AbortSignal | undefined;
  /** Gateway headers for all steps; a step's own outrank them. @default {} */
  readonly extraHeaders?: Readonly<Record<string, string>> | undefined;
}

/** The object that `ai-gateway-provider` takes as its `binding`, and as the `binding` of its `resume`. */
export interface AiBinding {
  /**
   * Runs one step or several, tried in turn, of a universal request in this process; resolves to the provider's raw
   * answer. Options of the client arrive as headers of each step.
   */
  run(steps: unknown, options?: AiRunOptions): Promise<Response>;
  /**
   * Resumes a stream that broke off: `https://workers-binding.ai/ai-gateway/gateways/{gateway}/run/{run
   * id}/resume?from={events received}`. Other addresses are a 404.
   */
  fetch(
    input: string | URL | Request,
    init?: { readonly method?: string; readonly signal?: AbortSignal | null | undefined },
  ): Promise<Response>;
}

const IN_PROCESS: AdmitOptions = {
  caller: OPERATOR,
  inProcess: true,
  entry: { method: null, route: "AiBinding.run" },
};

export interface BindingParts extends StepsParts {
  readonly admission: Pick<GatewayAdmission, "admit">;
  readonly deliver: DeliverAnswer;
  readonly resume?: ResumableRuns | undefined;
}

/** Makes the binding of one gateway over an engine. */
export function aiBinding(name: GatewayName, parts: BindingParts): AiBinding {
  return {
    run: (steps, options = {}) =>
      answered("gateway", async () => {
        const { signal = new AbortController().signal, extraHeaders = {} } = options;
        const headers = Object.entries(extraHeaders).map(([key, value]): HeaderPair => [
          key.toLowerCase(),
          value,
        ]);
        const call = await parts.admission.admit(name, headers, signal, IN_PROCESS);
        const list = Array.isArray(steps) ? steps : [steps];
        try {
          const checked = toSteps(list, parts.pools(name));
          return await parts.deliver(await forwardSteps(checked, call, parts), true);
        } catch (error) {
          throw callError(call, error);
        }
      }),
    fetch: (input, init = {}) =>
      answered("api", () => {
        const request = input instanceof Request ? input : null;
        const method = init.method ?? request?.method ?? "GET";
        const signal = init.signal ?? request?.signal ?? new AbortController().signal;
        const asked = resumption(new URL(input instanceof Request ? input.url : input));
        if (asked === null || method !== "GET") throw new ApiError("no_route");
        const { gateway, runId, from } = asked;
        return resumeRun(
          { name: { ...name, gateway }, caller: OPERATOR, runId, from, signal },
          parts.resume,
        );
      }),
  };
}

const resumption = (url: URL): { gateway: string; runId: string; from: string | null } | null => {
  const path = /^\/ai-gateway\/gateways\/([^/]+)\/run\/([^/]+)\/resume$/.exec(url.pathname);
  const [, gateway, runId] = path ?? [];
  if (url.hostname !== "workers-binding.ai" || gateway === undefined || runId === undefined) {
    return null;
  }
  return { gateway, runId, from: url.searchParams.get("from") };
};

/** In process, too, failures are answers. */
async function answered(
  shape: ErrorShape,
  answer: () => Promise<Response> | Response,
): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    if (error instanceof ApiError) return errorResponse(error, shape);
    throw error;
  }
}
