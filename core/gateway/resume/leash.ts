/** What ties a call to its client, where an answer may outlive it. */
export interface Leash {
  /** For the call in place of the client's: aborts with the client for as long as it is tied to it. */
  readonly signal: AbortSignal;
  /** Aborts when the client is gone. */
  readonly client: AbortSignal;
  /** From now on a client that goes away no longer ends the call. */
  letGo(): void;
  /** Ends the call. */
  end(reason: unknown): void;
}

/**
 * Ties a call to its client. An abort by a program in the same process (`deliberate`) is a decision, not a lost
 * connection: it ends the call whether the call was let go or not.
 */
export function leash(client: AbortSignal, deliberate: boolean): Leash {
  const control = new AbortController();
  const end = (reason: unknown): void => control.abort(reason);
  if (deliberate) {
    // The program may use one signal for many calls: nothing must be left on it.
    const signal = AbortSignal.any([client, control.signal]);
    return { signal, client, letGo: () => undefined, end };
  }
  const onAbort = (): void => end(client.reason);
  if (client.aborted) onAbort();
  else client.addEventListener("abort", onAbort, { once: true });
  const letGo = (): void => client.removeEventListener("abort", onAbort);
  return { signal: control.signal, client, letGo, end };
}
