import { readFile } from "node:fs/promises";

/** Tells whether the other end of a loopback TCP connection belongs to this process's user. */
export type IsOwnPeer = (localPort: number, peerPort: number) => Promise<boolean>;

/**
 * Keeps other local users from borrowing the proxy. Only Linux can tell whose a connection is (`/proc/net/tcp`);
 * elsewhere, or where the table cannot be read, everyone on the machine passes. The table has a line for each connection of
 * the machine: those that come together share one reading of it, and nothing but their own lines is parsed.
 */
export function ownPeers(
  readTable: () => Promise<string> = () => readFile("/proc/net/tcp", "latin1"),
): IsOwnPeer {
  const uid = process.getuid?.();
  if (uid === undefined) return () => Promise.resolve(true);
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<string> | undefined;
  /** A table whose reading begins after this call: an older one need not have the connection. */
  const table = (): Promise<string> =>
    (next ??= running.then(() => {
      next = undefined;
      const reading = readTable().catch(() => "");
      running = reading;
      return reading;
    }));
  return async (localPort, peerPort) => {
    const owners = peerOwners(await table(), localPort, peerPort);
    // A connection that is not in the table (another network namespace) cannot be judged.
    return owners.every((owner) => owner === uid);
  };
}

/** The user ids of sockets that go from `peerPort` to `localPort` on loopback, out of `/proc/net/tcp`. */
function peerOwners(table: string, localPort: number, peerPort: number): number[] {
  const addresses = ` 0100007F:${hex(peerPort)} 0100007F:${hex(localPort)} `;
  const owners: number[] = [];
  for (let at = table.indexOf(addresses); at >= 0; at = table.indexOf(addresses, at + 1)) {
    const [, , , , , , owner] = table
      .slice(at, at + 200)
      .trim()
      .split(/\s+/u);
    owners.push(Number(owner));
  }
  return owners;
}

function hex(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, "0");
}
