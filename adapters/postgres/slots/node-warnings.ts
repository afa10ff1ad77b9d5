import type { Log } from "../../../core/ports.ts";
import type { ClusterNode } from "./lease-store.ts";

const LOOPBACK = /^(?:127\.|localhost:|\[::1\])/u;

/** Says what to set when a node of another machine and this one cannot reach each other. */
export function loopbackWarning(own: ClusterNode, log: Log): (other: ClusterNode) => void {
  let isSaid = false;
  return (other) => {
    const local = [own, other].find(({ address }) => LOOPBACK.test(address));
    if (other.machine === own.machine || local === undefined || isSaid) return;
    isSaid = true;
    log(
      "error",
      "Nodes on several machines share the database, and one listens for its own machine alone: set cluster.listen (--cluster-listen) to an address that the others reach, such as 10.0.0.5:8788",
      { address: local.address, machine: local.machine },
    );
  };
}

/** Says that the clock of this machine is wrong. */
export function clockWarning(log: Log): (aheadMs: number) => void {
  return (aheadMs) => {
    log(
      "warn",
      "The clock of this machine differs from the database's: set both by NTP, or times in rows and logs are wrong",
      { ahead_seconds: Math.round(aheadMs / 1000) },
    );
  };
}
