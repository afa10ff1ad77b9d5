/**
 * causey with everything in memory, on any runtime with Web standards: {@link memoryPlatform}.
 *
 * @module
 */
export { memoryPlatform, type MemoryPlatformOptions } from "./platform.ts";
export type { AcceptedWebSocket, AcceptWebSocket } from "./sockets.ts";
