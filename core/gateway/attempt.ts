import type { InboundResponse, System } from "../ports.ts";
import { TransportError } from "../transport-error.ts";
import type { Call, GatewayDeps } from "./call.ts";
import { echoTransport } from "./echo.ts";
import { headerValue } from "./header-hygiene.ts";
import type { Outbound } from "./outbound.ts";
import { isRetryable, pauseAfter, retryAfterMs, type RetryPolicy } from "./policy.ts";
import { within } from "./within.ts";

/** How one try ended: with an answer of any status, or without one. */
export type Answer = InboundResponse | TransportError;

/** Sends a prepared request once; `timeout` (ms) ends the wait for an answer to begin, null = no limit. */
export async function attempt(
  { target, request }: Outbound,
  timeout: number | null,
  call: Call,
  deps: GatewayDeps,
): Promise<Answer> {
  const { system, transport, egress } = deps.platform;
  const outside = target.custom === undefined ? transport : egress;
  const via = target.url.startsWith("echo:") ? echoTransport(system) : outside;
  try {
    if (timeout === null) return await via.send(request);
    const send = (signal: AbortSignal, onBegin: () => void): Promise<InboundResponse> =>
      via.send({ ...request, signal, onBegin });
    return await within(timeout, request.signal, send, system);
  } catch (error) {
    if (error instanceof TransportError) return error;
    if (call.signal.aborted)
      return new TransportError("aborted", "The client went away", { cause: error });
    throw error;
  }
}

/** Whether another try could do better. A client that left wants none. */
export function deservesRetry(answer: Answer, call: Call): boolean {
  if (call.signal.aborted) return false;
  if (answer instanceof TransportError) return answer.reason !== "refused";
  return isRetryable(answer.status, headerValue(answer.headers, "x-should-retry"));
}

/** Milliseconds to wait after try number `number` (from 1). */
export function pause(answer: Answer, number: number, policy: RetryPolicy, system: System): number {
  if (answer instanceof TransportError) return pauseAfter(number, policy, null);
  const after = retryAfterMs(
    headerValue(answer.headers, "retry-after-ms"),
    headerValue(answer.headers, "retry-after"),
    system.now(),
  );
  return pauseAfter(number, policy, after);
}
