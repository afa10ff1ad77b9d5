import type { Mutant } from "./mutant.ts";

const tests = ["tests/local/postgres/open-postgres"];
const joined = ["tests/local/postgres/joined"];

/** Guards of the PostgreSQL adapter. */
export const postgresMutants: readonly Mutant[] = [
  {
    name: "a batch whose fence does not hold is not committed",
    file: "adapters/postgres/transaction.ts",
    find: "some((answer) => answer.length === 0)",
    replace: "some(() => false)",
    tests,
  },
  {
    name: "what waited for a broken connection is not sent on the next one by itself",
    file: "adapters/postgres/database-connection.ts",
    find: "for (const query of waiting) query.cancel();",
    replace: "",
    tests,
  },
  {
    name: "a batch does not wait for ever for a database that is away",
    file: "adapters/postgres/write-queue.ts",
    find: "if (!reach.mayWait())",
    replace: "if (false)",
    tests,
  },
  {
    name: "an event of an entity waits for the one that another process stores",
    file: "core/agents/kind/ingest.ts",
    find: "await store(event, deps, lock);",
    replace: "await store(event, deps, []);",
    tests: ["tests/local/postgres/concurrent-ingest"],
  },
  {
    name: "batches that wait for a database are bounded",
    file: "adapters/postgres/write-queue.ts",
    find: "if (queue.length >= limit)",
    replace: "if (false)",
    tests,
  },
  {
    name: "queries that wait for a database are bounded",
    file: "adapters/postgres/query-pool.ts",
    find: "if (running.size >= limit)",
    replace: "if (false)",
    tests,
  },
  {
    name: "a database of another application is left alone",
    file: "adapters/postgres/prepare-database.ts",
    find: 'facts["other"] !== null',
    replace: "false",
    tests,
  },
  {
    name: "a database of another encoding is refused",
    file: "adapters/postgres/prepare-database.ts",
    find: 'text("encoding") !== "UTF8"',
    replace: "false",
    tests,
  },
  {
    name: "an alarm is claimed under the lease of its actor",
    file: "adapters/postgres/postgres-store.ts",
    find: "`, fenceOf(kind, name))",
    replace: "`)",
    tests: joined,
  },
  {
    name: "a node without its database is not ready, whoever has the object that is asked",
    file: "core/signals/health.ts",
    find: 'if (failure !== null) return { status: "unavailable"',
    replace: 'if (false) return { status: "unavailable"',
    tests: joined,
  },
  {
    name: "calls without an owner do not wait for a database that is away",
    file: "adapters/postgres/slots/routed-actors.ts",
    find: "if (target === null && failure() !== null)",
    replace: "if (false)",
    tests: joined,
  },
  {
    name: "a node whose address only its own machine reaches says so",
    file: "adapters/postgres/slots/cluster.ts",
    find: "other.machine === own.machine ||",
    replace: "true ||",
    tests: joined,
  },
  {
    name: "no alarm rings for an actor that is elsewhere",
    file: "adapters/shared/actors/local-actors.ts",
    find: "homes.isHere(kind, name) &&",
    replace: "",
    tests: ["tests/local/alarms"],
  },
  {
    name: "a node does not tell others to call it at all addresses",
    file: "adapters/postgres/slots/cluster-settings.ts",
    find: "if (ALL_ADDRESSES.test(advertise ?? listen.host))",
    replace: "if (false)",
    tests: joined,
  },
  {
    name: "a cluster takes no short secret",
    file: "adapters/postgres/slots/cluster-settings.ts",
    find: "secret.length < SECRET_LENGTH",
    replace: "false",
    tests: joined,
  },
  {
    name: "a lease has bounds",
    file: "adapters/postgres/slots/cluster-settings.ts",
    find: "!(leaseMs >= LEASE_MS.from && leaseMs <= LEASE_MS.to)",
    replace: "false",
    tests: joined,
  },
];
