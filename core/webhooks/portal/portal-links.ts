import type { ActorContext, ActorKind } from "../../ports.ts";

/** Most links of an account that are valid at a time. */
const LINK_LIMIT = 1000;

/** The portal that a link opens. Plain data, because it crosses to an actor. */
export type PortalLink = {
  /** SHA-256 of its token, in hexadecimal digits. */
  readonly hash: string;
  readonly account: string;
  readonly application: string;
  readonly readOnly: boolean;
  /** Unix ms. */
  readonly expires: number;
};

/** The methods of the actor that holds the links. */
export interface PortalLinkMethods {
  /** Resolves to whether there was room. */
  add(link: PortalLink): Promise<boolean>;
  /** The valid link of a token; null without one. */
  find(hash: string): Promise<PortalLink | null>;
  /** Ends all links of an application. */
  end(account: string, application: string): Promise<void>;
}

/**
 * The actor that holds the links to the portal. One for all accounts: what a stranger presents is looked up here, so that
 * it starts no actor of an account that does not exist.
 */
export const portalLinksKind: ActorKind = {
  name: "webhooks-portal",
  schema: [
    `CREATE TABLE webhooks_portal_links (
      actor TEXT NOT NULL, hash TEXT NOT NULL, account TEXT NOT NULL, application TEXT NOT NULL,
      read_only INTEGER NOT NULL, expires BIGINT NOT NULL, PRIMARY KEY (actor, hash))`,
    "CREATE INDEX webhooks_portal_links_owner ON webhooks_portal_links (actor, account, application)",
  ],
  interleaved: ["find"],
  start: ({ name: actor, sql, system }: ActorContext) => {
    const methods: PortalLinkMethods = {
      async add({ hash, account, application, readOnly, expires }) {
        const [, added] = await sql.batch([
          {
            sql: "DELETE FROM webhooks_portal_links WHERE actor = ? AND expires <= ?",
            params: [actor, system.now()],
          },
          {
            sql: `INSERT INTO webhooks_portal_links (actor, hash, account, application, read_only, expires)
              SELECT ?, ?, ?, ?, ?, ?
              WHERE (SELECT COUNT(*) FROM webhooks_portal_links WHERE actor = ? AND account = ?) < ?`,
            params: [
              actor,
              hash,
              account,
              application,
              readOnly ? 1 : 0,
              expires,
              actor,
              account,
              LINK_LIMIT,
            ],
          },
        ]);
        return added?.changes === 1;
      },
      async find(hash) {
        const [row] = await sql.all(
          "SELECT * FROM webhooks_portal_links WHERE actor = ? AND hash = ? AND expires > ?",
          [actor, hash, system.now()],
        );
        if (row === undefined) return null;
        return {
          hash,
          account: String(row["account"]),
          application: String(row["application"]),
          readOnly: Number(row["read_only"]) === 1,
          expires: Number(row["expires"]),
        };
      },
      async end(account, application) {
        await sql.batch([
          {
            sql: "DELETE FROM webhooks_portal_links WHERE actor = ? AND account = ? AND application = ?",
            params: [actor, account, application],
          },
        ]);
      },
    };
    return { methods: { ...methods } };
  },
};
