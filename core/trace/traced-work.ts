import { ApiError } from "../http/api-error.ts";
import { type FinishedSpan, readTraceparent, type Tracer } from "./trace-context.ts";

/** The span of work that no request waits for. */
export interface WorkSpan {
  /** The value to send with the work's own requests; null without tracing. */
  readonly traceparent: string | null;
  /** Ends the span with the work. `outcomeOf` judges work that did not reject; null drops the span. */
  of<T>(work: Promise<T>, outcomeOf?: (result: T) => WorkOutcome | null): Promise<T>;
}

export interface WorkOutcome {
  /** Null: it has succeeded. */
  readonly error: string | null;
  readonly attributes?: FinishedSpan["attributes"];
}

/** Begins the span of work below the `traceparent` that was stored with it; null begins a trace. */
export function workSpan(
  tracer: Tracer | undefined,
  parent: string | null,
  about: () => Pick<FinishedSpan, "name" | "attributes">,
): WorkSpan {
  if (tracer === undefined) return { traceparent: null, of: (work) => work };
  const span = tracer.begin(readTraceparent(parent));
  const end = ({ error, attributes = {} }: WorkOutcome): void => {
    const { name, attributes: known } = about();
    span.end({
      name,
      kind: "internal",
      attributes: { ...known, ...attributes, "error.type": error },
      isError: error !== null,
    });
  };
  return {
    traceparent: span.traceparent,
    async of(work, outcomeOf) {
      let result;
      try {
        result = await work;
      } catch (error) {
        end({ error: errorType(error) });
        throw error;
      }
      const outcome = outcomeOf === undefined ? { error: null } : outcomeOf(result);
      if (outcome !== null) end(outcome);
      return result;
    },
  };
}

/** The `error.type` of an error: its kind and never its text, which can hold anything. */
export function errorType(error: unknown): string {
  return error instanceof ApiError ? error.kind : "internal";
}
