import * as v from "valibot";
import { fromBase64Url, toBase64Url, utf8 } from "../../crypto/encoding.ts";
import { hmacKey, hmacSign, hmacVerify } from "../../crypto/hmac.ts";
import { ApiError } from "../../http/api-error.ts";
import type { ActorKind, Platform } from "../../ports.ts";

/** Kind of actor that keeps the key which signs an account's tickets; its name is the account id. */
const KEY_KIND = "agents-ticket-key";
/** Separates these signatures from all others. */
const PURPOSE = "causey.agent-ticket.v1.";
/** Longest ticket that is looked at: a name has up to 1,024 bytes, percent-encoded in JSON at worst six each. */
const TICKET_LIMIT = 12_000;
const LONGEST_S = 3600;

/** The content of a ticket, which lets its bearer connect to one agent. */
export interface TicketGrant {
  /** Class and name of the agent. */
  readonly agent: string;
  readonly account: string;
  /** Passes on "Agents Edit". */
  readonly edit: boolean;
  /** The one origin whose pages may use it; null = any, and clients without one. */
  readonly origin: string | null;
}

/** The body of `POST …/ticket`. */
export type TicketInput = {
  readonly ttl_seconds: number;
  readonly edit: boolean;
  readonly origin?: string | undefined;
};

/** Body of `POST …/ticket`; an unknown field could have meant to restrict the ticket. */
export const ticketInput: v.GenericSchema<unknown, TicketInput> = v.strictObject({
  ttl_seconds: v.optional(
    v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(LONGEST_S)),
    60,
  ),
  edit: v.optional(v.boolean(), false),
  origin: v.optional(v.pipe(v.string(), v.maxLength(256), v.regex(/^https?:\/\/[^/?#]+$/))),
});

/** A ticket and the time at which it expires (ISO 8601). */
export type Issued = { readonly ticket: string; readonly expires_at: string };

/** Makes and checks tickets. */
export interface Tickets {
  issue(grant: TicketGrant, seconds: number): Promise<Issued>;
  /** Throws 401 for a forged, malformed or expired ticket, 403 for one of another agent or origin. */
  check(
    ticket: string,
    wanted: Pick<TicketGrant, "agent" | "account" | "origin">,
  ): Promise<TicketGrant>;
}

/** The kind that makes the key at first use and keeps it, so that tickets survive a restart. */
export const ticketKeyKind: ActorKind = {
  name: KEY_KIND,
  schema: [
    "CREATE TABLE IF NOT EXISTS agents_ticket_keys (actor TEXT PRIMARY KEY, secret BLOB NOT NULL)",
  ],
  start: ({ name, sql, system }) => ({
    methods: {
      async secret() {
        const [, found] = await sql.batch([
          {
            sql: "INSERT INTO agents_ticket_keys (actor, secret) VALUES (?, ?) ON CONFLICT (actor) DO NOTHING",
            params: [name, system.random(32)],
          },
          { sql: "SELECT secret FROM agents_ticket_keys WHERE actor = ?", params: [name] },
        ]);
        return found?.rows[0]?.["secret"];
      },
    },
  }),
};

export function tickets(platform: Platform, account: string): Tickets {
  const { actors, system } = platform;
  actors.define(ticketKeyKind);
  let known: Promise<CryptoKey> | undefined;

  async function load(): Promise<CryptoKey> {
    const secret = await actors.get(KEY_KIND, account).call("secret");
    if (!(secret instanceof Uint8Array)) throw new ApiError("internal");
    return hmacKey(secret);
  }
  function key(): Promise<CryptoKey> {
    known ??= load().catch((error: unknown) => {
      known = undefined;
      throw error;
    });
    return known;
  }

  return {
    async issue(grant, seconds) {
      const expires = system.now() + seconds * 1000;
      const content = toBase64Url(utf8(JSON.stringify({ ...grant, expires })));
      const signature = await hmacSign(await key(), PURPOSE + content);
      return {
        ticket: `${content}.${toBase64Url(signature)}`,
        expires_at: new Date(expires).toISOString(),
      };
    },
    async check(ticket, wanted) {
      const content = await verified(await key(), ticket);
      if (content === null || content.expires <= system.now()) {
        throw new ApiError("unauthorized", { message: "The ticket is invalid or has expired" });
      }
      if (content.agent !== wanted.agent || content.account !== wanted.account) {
        throw new ApiError("forbidden", { message: "The ticket is for another agent" });
      }
      if (content.origin !== null && content.origin !== wanted.origin) {
        throw new ApiError("forbidden", { message: "The ticket is for pages of another origin" });
      }
      return content;
    },
  };
}

/** The content of a ticket that this key has signed; the signature is compared in constant time. */
async function verified(
  key: CryptoKey,
  ticket: string,
): Promise<(TicketGrant & { readonly expires: number }) | null> {
  if (ticket.length > TICKET_LIMIT) return null;
  const [content = "", signature = "", ...more] = ticket.split(".");
  const bytes = fromBase64Url(signature);
  const text = fromBase64Url(content);
  if (bytes === null || text === null || more.length > 0) return null;
  if (!(await hmacVerify(key, bytes, utf8(PURPOSE + content)))) return null;
  // Signed by us, so its form is ours.
  return JSON.parse(new TextDecoder().decode(text)) as TicketGrant & { readonly expires: number };
}
