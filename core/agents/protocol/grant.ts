import type { Connection, Plain } from "../../ports.ts";
import type { AgentConnection } from "../define/agent.ts";
import type { Holder } from "../define/services.ts";

/** Data that stays with a connection through evictions: the runtime's own flags, and the handler's state. */
export type ConnectionGrant = {
  /** Holds "Agents Edit". */
  readonly edit: boolean;
  /** May not set the state. */
  readonly readonly: boolean;
  /** Follows the event feed. */
  readonly follows: boolean;
  /** Gets only those frames of the protocol that it asked for. */
  readonly silent: boolean;
  /** The token that opened it; null where it is not asked for again. */
  readonly holder: Holder | null;
  /** The data that handlers keep with the connection. */
  readonly own: Plain;
};

/** The grant of a connection; without one it may do nothing but read. */
export function grantOf(connection: Connection): ConnectionGrant {
  const { edit, readonly, follows, silent, holder, own } = (connection.attachment ??
    {}) as Partial<ConnectionGrant>;
  return {
    edit: edit === true,
    readonly: readonly !== false,
    follows: follows === true,
    silent: silent === true,
    holder: holder ?? null,
    own,
  };
}

/** Wraps a connection for handlers, which cannot change its rights. `check` throws once the handler's time is over. */
export function forHandlers(connection: Connection, check: () => void): AgentConnection {
  return {
    id: connection.id,
    tags: connection.tags,
    get state() {
      return grantOf(connection).own;
    },
    set state(own) {
      check();
      connection.attachment = { ...grantOf(connection), own };
    },
    get readonly() {
      return grantOf(connection).readonly;
    },
    set readonly(readonly) {
      check();
      connection.attachment = { ...grantOf(connection), readonly };
    },
    get buffered() {
      return connection.buffered;
    },
    get queued() {
      return connection.queued;
    },
    send(message) {
      check();
      return connection.send(message);
    },
    close(code, reason) {
      check();
      connection.close(code, reason);
    },
  };
}
