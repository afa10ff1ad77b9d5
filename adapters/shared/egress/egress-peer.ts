import { readFile } from "node:fs/promises";

/**
 * Whether the other end of a loopback TCP connection belongs to this process's user, so that no other
 * local user can borrow the proxy. Only Linux can tell (`/proc/net/tcp`); elsewhere, or where the table
 * cannot be read, everyone on the machine passes.
 */
export async function isOwnPeer(localPort: number, peerPort: number): Promise<boolean> {
  const uid = process.getuid?.();
  if (uid === undefined) return true;
  let table: string;
  try {
    table = await readFile("/proc/net/tcp", "latin1");
  } catch {
    return true;
  }
  // A connection that is not in the table (another network namespace) cannot be judged.
  return peerOwners(table, localPort, peerPort).every((owner) => owner === uid);
}

/** The user ids of sockets that go from `peerPort` to `localPort` on loopback, out of `/proc/net/tcp`. */
function peerOwners(table: string, localPort: number, peerPort: number): number[] {
  const from = `0100007F:${hex(peerPort)}`;
  const to = `0100007F:${hex(localPort)}`;
  return table
    .split("\n")
    .map((line) => line.trim().split(/\s+/u))
    .filter((columns) => columns[1] === from && columns[2] === to)
    .map((columns) => Number(columns[7]));
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
