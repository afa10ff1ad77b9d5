import type { PostgresDatabase } from "../../adapters/postgres/open-postgres.ts";
import {
  openCluster,
  type Cluster,
  type ClusterOptions,
  type SlotHost,
} from "../../adapters/postgres/slots/cluster.ts";
import { checkCluster } from "../../adapters/postgres/slots/cluster-settings.ts";

const silent = (): undefined => undefined;

/** Opens a node that has no actors unless `host` has some. */
export function openNode(
  db: PostgresDatabase,
  {
    host,
    ...options
  }: Partial<Omit<ClusterOptions, "host">> & { readonly host?: Partial<SlotHost> } = {},
): Promise<Cluster> {
  return openCluster({
    db,
    listen: checkCluster().listen,
    machine: "here",
    version: "1",
    speaks: "tests",
    secret: "the secret of the tests",
    upgrade: () => null,
    upgrades: new WeakMap(),
    log: silent,
    ...options,
    host: {
      here: () => {
        throw new Error("Nobody calls");
      },
      holds: () => false,
      drop: silent,
      rescan: silent,
      detached: silent,
      ...host,
    },
  });
}
