import type { Log } from "../../../core/ports.ts";
import { nodeErrors } from "../../peers/owner-errors.ts";
import { connectToPeer, type PeerConnection } from "../../peers/peer-connection.ts";
import type { Signatures } from "../../peers/signature.ts";
import type { Upgrade } from "../../shared/sockets/sockets.ts";
import type { ClusterNode } from "./lease-store.ts";

/** The connections to other nodes, made when they are first needed and again after they were lost. */
export interface PeerNodes {
  /** Returns the connection to a node; null while there is none, and `onChange` follows. */
  to(node: ClusterNode): PeerConnection | null;
  /** Calls, requests and WebSockets under way. */
  size(): number;
  closeSockets(code: number, reason: string): void;
  close(): void;
}

export interface PeerNodesOptions {
  readonly upgrade: Upgrade;
  readonly speaks: string;
  readonly signatures: Signatures;
  readonly log: Log;
  /** A connection is there, or an attempt to make one has failed. */
  readonly onChange: () => void;
}

/** The pause after a node could not be reached, in ms: it may have ended, or be cut off. */
const PAUSE_MS = 200;

/** Makes the connections of a node. */
export function peerNodes(options: PeerNodesOptions): PeerNodes {
  const { log, onChange } = options;
  const open = new Map<string, PeerConnection>();
  /** Those that may still have something under way. */
  const all = new Set<PeerConnection>();
  const connecting = new Set<string>();
  /** Why nodes could not be called, as it was logged. */
  const said = new Map<string, string>();

  async function connect({ address, id }: ClusterNode): Promise<void> {
    const at = address.lastIndexOf(":");
    const lost: { connection?: PeerConnection } = {};
    const forget = (): void => {
      if (open.get(id) === lost.connection) open.delete(id);
      onChange();
    };
    const answer = await connectToPeer({
      ...options,
      address: {
        host: address.slice(0, at).replaceAll(/[[\]]/gu, ""),
        port: Number(address.slice(at + 1)),
      },
      errors: nodeErrors,
      onLeaving: forget,
      onLost() {
        if (lost.connection !== undefined) all.delete(lost.connection);
        forget();
      },
    });
    if ("call" in answer && answer.isOpen()) {
      said.delete(id);
      lost.connection = answer;
      all.add(answer);
      open.set(id, answer);
    } else {
      const because = "because" in answer ? answer.because : "";
      if (because !== "" && said.get(id) !== because)
        log("warn", `Another node cannot be called${because}`, { address });
      said.set(id, because);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    connecting.delete(id);
    onChange();
  }

  return {
    to(node) {
      const connection = open.get(node.id);
      if (connection !== undefined) return connection;
      if (!connecting.has(node.id)) {
        connecting.add(node.id);
        void connect(node);
      }
      return null;
    },
    size: () => [...all].reduce((sum, one) => sum + one.size(), 0),
    closeSockets(code, reason) {
      for (const one of all) one.closeSockets(code, reason);
    },
    close() {
      for (const one of all) one.leave();
    },
  };
}
