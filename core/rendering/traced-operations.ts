import { ApiError } from "../http/api-error.ts";
import type { Tracer } from "../trace-context.ts";
import type { OperationName, RenderOperation } from "./operations.ts";

type Operations = Readonly<Record<OperationName, RenderOperation>>;

/** The operations with a span of each rendering, which is named to the origin that is rendered. */
export function tracedOperations(operations: Operations, tracer: Tracer | undefined): Operations {
  if (tracer === undefined) return operations;
  const entries = Object.entries(operations).map(([name, operation]) => [
    name,
    traced(name, operation, tracer),
  ]);
  // `as`: the same names.
  return Object.fromEntries(entries) as Operations;
}

function traced(name: string, operation: RenderOperation, tracer: Tracer): RenderOperation {
  return async (call) => {
    const span = tracer.begin(call.trace ?? null);
    let browserMs = 0;
    const onBrowserMs = (ms: number): void => {
      browserMs = ms;
      call.onBrowserMs(ms);
    };
    const end = (error: string | null): void =>
      span.end({
        name: `render ${name}`,
        kind: "internal",
        attributes: {
          "causey.part": "rendering",
          "causey.browser_ms": browserMs,
          "error.type": error,
        },
        isError: error !== null,
      });
    try {
      const answer = await operation({ ...call, onBrowserMs, traceparent: span.traceparent });
      end(null);
      return answer;
    } catch (error) {
      end(error instanceof ApiError ? error.kind : "internal");
      throw error;
    }
  };
}
