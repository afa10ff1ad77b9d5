import { jsonExcess, parsedObject } from "../../http/json.ts";
import type { Plain } from "../../ports.ts";
import type { EventRecord } from "../../entity/event.ts";

/** A frame from a client that is part of the protocol (docs/compatibility.md). */
export type ClientFrame =
  | {
      readonly type: "rpc";
      readonly id: string;
      readonly method: string;
      readonly args: readonly Plain[];
    }
  | { readonly type: "state"; readonly state: Plain }
  | { readonly type: "subscribe"; readonly since: number }
  /** A frame that exceeds a bound and is not read; `reason` names the bound. */
  | { readonly type: "refused"; readonly reason: string };

/** Longest id of a call: it is sent back. */
const ID_LIMIT = 256;

/** Most arguments of a call: engines overflow their stack at some ten thousand. */
const ARGS_LIMIT = 1000;

/** A mark that every frame of the protocol contains. */
const MARK = /"(?:rpc|cf_agent_state|subscribe)"/u;

/**
 * Reads a frame; null for anything that is not of the protocol and so belongs to `onMessage`. A frame that would hold
 * up the process is not parsed.
 */
export function parseFrame(message: string): ClientFrame | null {
  const excess = jsonExcess(message);
  if (excess !== null)
    return MARK.test(message) ? { type: "refused", reason: `A frame has ${excess}` } : null;
  const frame = parsedObject(message);
  if (frame === null) return null;
  const { type, state, since } = frame as Record<string, Plain>;
  if (type === "rpc") return parseCall(frame as Record<string, Plain>);
  if (type === "cf_agent_state" && state !== undefined) return { type: "state", state };
  if (
    type === "subscribe" &&
    typeof since === "number" &&
    Number.isSafeInteger(since) &&
    since >= 0
  ) {
    return { type, since };
  }
  return null;
}

function parseCall({ id, method, args }: Record<string, Plain>): ClientFrame | null {
  if (typeof id !== "string" || id.length > ID_LIMIT) return null;
  if (typeof method !== "string" || !Array.isArray(args)) return null;
  if (args.length > ARGS_LIMIT)
    return { type: "refused", reason: `A call has more than ${ARGS_LIMIT} arguments` };
  return { type: "rpc", id, method, args: args as readonly Plain[] };
}

/**
 * The first frame, which names the agent that the client is connected to. With `stateFollows` its `ready` waits for the
 * state.
 */
export function identityFrame(name: string, agent: string, stateFollows: boolean): string {
  return JSON.stringify({
    type: "cf_agent_identity",
    name,
    agent,
    ...(stateFollows ? { stateFollows } : {}),
  });
}

/** The whole state: second on connect, and after every change. */
export function stateFrame(state: Plain): string {
  return JSON.stringify({ type: "cf_agent_state", state });
}

/** Third on connect: an empty list of MCP servers, because the official server always sends one. */
export const mcpFrame: string = JSON.stringify({
  type: "cf_agent_mcp_servers",
  mcp: { prompts: [], resources: [], servers: {}, tools: [] },
});

/** The frame that says that a client's state was refused. */
export function stateErrorFrame(error: string): string {
  return JSON.stringify({ type: "cf_agent_state_error", error });
}

/** The result of a call, or with `done` false a part of a stream. */
export function resultFrame(id: string, result: unknown, done: boolean): string {
  return JSON.stringify({ type: "rpc", id, success: true, done, result });
}

/** The frame that says that a call failed. */
export function errorFrame(id: string, error: string): string {
  return JSON.stringify({ type: "rpc", id, success: false, error });
}

/** A stored event, for connections that subscribed. Not of the public protocol: its client ignores it. */
export function eventFrame(seq: number, event: EventRecord): string {
  return JSON.stringify({ type: "event", seq, event });
}

/**
 * The frame that says that the events between the client's position and `oldest` are gone: the client should read the
 * state again.
 */
export function resetFrame(oldest: number): string {
  return JSON.stringify({ type: "reset", oldest });
}
