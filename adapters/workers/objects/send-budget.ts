/** Tells whether a connection may be sent more. */
export interface SendBudget {
  /** Counts `size` bytes to a connection; false when it has been sent too much too fast. */
  spend(connection: WebSocket, size: number): boolean;
  /** Bytes that are taken as unread. */
  pending(connection: WebSocket): number;
}

interface Account {
  sent: number;
  at: number;
}

/**
 * Bounds the bytes that pile up for clients that do not read. workerd does not report how much of a socket is unsent (no
 * `bufferedAmount`, cloudflare/workerd#988), so this counts the bytes handed over and assumes that they are read at `bytes`
 * per second. A client that reads slower than that for long is not noticed.
 */
export function sendBudget(bytes: number, now: () => number): SendBudget {
  const accounts = new WeakMap<WebSocket, Account>();

  function settled(connection: WebSocket): Account {
    const time = now();
    const account = accounts.get(connection) ?? { sent: 0, at: time };
    account.sent = Math.max(0, account.sent - (Math.max(0, time - account.at) / 1000) * bytes);
    account.at = time;
    accounts.set(connection, account);
    return account;
  }

  return {
    pending: (connection) => settled(connection).sent,
    spend(connection, size) {
      const account = settled(connection);
      // One frame larger than the budget may pass when nothing else waits.
      if (account.sent > 0 && account.sent + size > bytes) return false;
      account.sent += size;
      return true;
    },
  };
}
