import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Actor, ActorContext, ActorKind, Platform } from "../../ports.ts";

/** The instance behind a public endpoint. */
export type PublicPlace = {
  readonly account: string;
  readonly namespace: string;
  readonly id: string;
};

/** The methods of the actor that knows the public endpoints. */
export interface PublicEndpointMethods {
  put(endpoint: string, place: PublicPlace): Promise<void>;
  drop(endpoint: string): Promise<void>;
  /** Null for an id that no instance ever had. The instance says whether its endpoint is open. */
  find(endpoint: string): Promise<PublicPlace | null>;
}

/**
 * The actor that knows which instance a public endpoint is of. One for all accounts: what a stranger presents is looked up
 * here, so that it starts no actor of an instance that does not exist.
 */
export const publicEndpointsKind: ActorKind = {
  name: "search-endpoints",
  schema: [
    `CREATE TABLE search_endpoints (
      actor TEXT NOT NULL, endpoint TEXT NOT NULL, account TEXT NOT NULL, namespace TEXT NOT NULL, id TEXT NOT NULL,
      PRIMARY KEY (actor, endpoint))`,
  ],
  interleaved: ["find"],
  start: (context): Actor => ({ methods: { ...endpointMethods(context) } }),
};

function endpointMethods({ name: actor, sql }: ActorContext): PublicEndpointMethods {
  return {
    async put(endpoint, { account, namespace, id }) {
      await sql.batch([
        {
          sql: `INSERT INTO search_endpoints (actor, endpoint, account, namespace, id) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (actor, endpoint) DO NOTHING`,
          params: [actor, endpoint, account, namespace, id],
        },
      ]);
    },
    async drop(endpoint) {
      await sql.batch([
        {
          sql: "DELETE FROM search_endpoints WHERE actor = ? AND endpoint = ?",
          params: [actor, endpoint],
        },
      ]);
    },
    async find(endpoint) {
      const [row] = await sql.all(
        "SELECT account, namespace, id FROM search_endpoints WHERE actor = ? AND endpoint = ?",
        [actor, endpoint],
      );
      if (row === undefined) return null;
      return {
        account: String(row["account"]),
        namespace: String(row["namespace"]),
        id: String(row["id"]),
      };
    },
  };
}

/** Returns the actor that knows the public endpoints. */
export function publicEndpointsOf({
  actors,
}: Pick<Platform, "actors">): ActorClient<PublicEndpointMethods> {
  return actorClient(actors.get(publicEndpointsKind.name, "all"));
}

/** The form of an endpoint's id. */
const ENDPOINT = /^[0-9a-f]{32}$/u;

export function isEndpointId(text: string): boolean {
  return ENDPOINT.test(text);
}
