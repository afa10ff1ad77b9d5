/** Returns the subprotocol to select: one that the client did not offer must not be (RFC 6455 section 4.2.2). */
export function offeredProtocol(request: Request, wanted: string | undefined): string | undefined {
  if (wanted === undefined) return undefined;
  const offered = request.headers.get("sec-websocket-protocol")?.split(",") ?? [];
  return offered.some((name) => name.trim() === wanted) ? wanted : undefined;
}
