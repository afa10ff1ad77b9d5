import { ApiError } from "../api-error.ts";

/** Whether a request asks for a WebSocket. */
export function isWebSocketUpgrade(request: Request): boolean {
  return request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Throws `upgrade_required` for a request that asks for something else. */
export function requireWebSocketUpgrade(request: Request): void {
  if (isWebSocketUpgrade(request)) return;
  throw new ApiError("upgrade_required", { headers: { upgrade: "websocket" } });
}
