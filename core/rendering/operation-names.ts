import type { RenderCall } from "./perform.ts";

/** Answers one request. */
export type RenderOperation = (call: RenderCall) => Promise<Response>;

/** The last segments of the operations' paths. */
export const operationNames = [
  "pdf/edit",
  "markdown",
  "json",
  "content",
  "links",
  "scrape",
  "pdf",
  "screenshot",
  "accessibilityTree",
  "snapshot",
] as const;

/** The last segment of an operation's path. */
export type OperationName = (typeof operationNames)[number];
