import type { Mutant } from "./mutant.ts";

const status = ["tests/local/postgres/cluster-status"];

/** What nodes tell each other, and people, about themselves. */
export const clusterMutants: readonly Mutant[] = [
  {
    name: "nodes sign with the time of the database",
    file: "adapters/postgres/slots/cluster.ts",
    find: "signatures(options.secret, () => time.now())",
    replace: "signatures(options.secret, options.clock)",
    tests: status,
  },
  {
    name: "a clock is not called wrong for an answer that was long on its way",
    file: "adapters/postgres/slots/database-time.ts",
    find: " - (received - sent) / 2 > WRONG_MS",
    replace: " > WRONG_MS",
    tests: ["tests/local/postgres/database-time"],
  },
  {
    name: "a refused server that has ended stays in the list",
    file: "adapters/postgres/slots/lease-store.ts",
    find: "(id = ? AND refusal IS NULL)",
    replace: "(id = ?)",
    tests: ["tests/local/postgres/leases"],
  },
  {
    name: "the list says which server is too old for another one",
    file: "adapters/postgres/slots/cluster-status.ts",
    find: "(one.protocol ?? 0) > protocol + 1",
    replace: "(one.protocol ?? 0) > protocol + 9",
    tests: status,
  },
];
