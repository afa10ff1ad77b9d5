import { connect } from "node:net";
import { VERSION } from "../../core/version.ts";
import {
  ABSENT,
  connectToPeer,
  type JoinRefusal,
  type PeerConnection,
  type PeerConnectionOptions,
} from "../peers/peer-connection.ts";
import { folderErrors } from "../peers/owner-errors.ts";
import { readAddress } from "./address.ts";

/** Options of {@link connectToOwner}. */
export interface OwnerConnectionOptions extends Omit<
  PeerConnectionOptions,
  "address" | "errors" | "signatures"
> {
  readonly dataDir: string;
}

/** Returns what the processes of a data directory must have in common, for a process of that runtime. */
export function protocolOf(runtime: string): string {
  return `${runtime}, causey ${VERSION}`;
}

/** Connects to the process that holds a data directory. */
export function connectToOwner(
  options: OwnerConnectionOptions,
): Promise<PeerConnection | JoinRefusal> {
  const path = readAddress(options.dataDir);
  if (path === null) return Promise.resolve(ABSENT);
  return connectToPeer({ ...options, address: { path }, errors: folderErrors });
}

/**
 * Whether a lock owner of the directory listens. A process that has the lock and still finds a listener has locked another
 * file: the listener's own lock file was deleted.
 */
export function isOwnerListening(dataDir: string): Promise<boolean> {
  const path = readAddress(dataDir);
  if (path === null) return Promise.resolve(false);
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      resolve(true);
      socket.destroy();
    });
    // The error when no process listens any more. An unresponsive lock owner may have a full queue, which is EAGAIN.
    socket.once("error", (error) => {
      resolve("code" in error && error.code === "EAGAIN");
    });
  });
}
