import type postgres from "postgres";
import { types } from "./values.ts";

/** The address of the database, and how long connecting to it may take. */
export interface DatabaseAddress {
  /** `postgres://user:password@host:port/database`, with `?sslmode=verify-full` and the like. */
  readonly url: string;
  /** How long connecting may take, in ms. */
  readonly connectMs: number;
}

/** Options of a client with one connection; `onclose` hears that it ended. */
export function clientOptions(
  { connectMs }: DatabaseAddress,
  onclose: () => void,
): postgres.Options<Record<string, postgres.PostgresType>> {
  return {
    max: 1,
    connect_timeout: Math.ceil(connectMs / 1000),
    // A pooler in transaction mode keeps no settings of a session, and needs no look at its types.
    fetch_types: false,
    idle_timeout: 0,
    max_lifetime: null,
    onclose,
    onnotice: () => undefined,
    types,
    connection: { application_name: "causey" },
  };
}
