import type { InboundResponse, OutboundRequest, System, Transport } from "../ports.ts";
import { TransportError } from "../transport-error.ts";
import type { Call, GatewayDeps } from "./call.ts";
import { echoTransport } from "./echo.ts";
import { headerValue } from "./header-hygiene.ts";
import type { Outbound } from "./outbound.ts";
import { isRetryable, pauseAfter, retryAfterMs, type RetryPolicy } from "./policy.ts";

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
    return await sendWithin(via, request, timeout, system);
  } catch (error) {
    if (error instanceof TransportError) return error;
    if (call.signal.aborted)
      return new TransportError("aborted", "The client went away", { cause: error });
    throw error;
  }
}

async function sendWithin(
  transport: Transport,
  request: OutboundRequest,
  timeout: number,
  system: System,
): Promise<InboundResponse> {
  const late = new AbortController();
  const begun = new AbortController();
  const timer = system.sleep(timeout, begun.signal).then(
    () => late.abort(new TransportError("unreachable", `No answer within ${timeout} ms`)),
    () => undefined,
  );
  const signals = request.signal === undefined ? [late.signal] : [request.signal, late.signal];
  try {
    return await transport.send({ ...request, signal: AbortSignal.any(signals) });
  } finally {
    begun.abort();
    await timer;
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
