import type { Note } from "../../entity/event-counts.ts";
import type { WebhookSource } from "./source.ts";

/** A request on its way through `receive`. */
export interface Delivery {
  readonly source: WebhookSource;
  readonly request: Request;
  /** The raw body. */
  readonly body: Uint8Array;
  /** Bytes that a body may have when its encoding is undone. */
  readonly maxBodyBytes: number;
  /** The entity's name in the path; null on the route without one. */
  readonly pathName: string | null;
  /** The path that the sender's URL has in front of the path of the request. */
  readonly mountPath: string;
  /** The `traceparent` of the request's span. @default no tracing */
  readonly trace?: string | undefined;
  /** Receives the outcome, for the counters. */
  readonly note: Note;
}
