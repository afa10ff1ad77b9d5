/** Links the abort of a call to its client, where an answer may outlive that client. */
export interface AbortLink {
  /** The call's signal, in place of the client's: aborts with the client until `detach()`. */
  readonly signal: AbortSignal;
  /** Aborts when the client leaves. */
  readonly client: AbortSignal;
  /** From now on the client's leaving no longer ends the call. */
  detach(): void;
  abort(reason: unknown): void;
}

/**
 * Links a call to its client. A program in the same process aborts on purpose (`deliberate`), which is not a lost
 * connection: its abort ends the call, detached or not.
 */
export function linkAbort(client: AbortSignal, deliberate: boolean): AbortLink {
  const control = new AbortController();
  const abort = (reason: unknown): void => control.abort(reason);
  if (deliberate) {
    // The program may use one signal for many calls: nothing must be left on it.
    const signal = AbortSignal.any([client, control.signal]);
    return { signal, client, detach: () => undefined, abort };
  }
  const onAbort = (): void => abort(client.reason);
  if (client.aborted) onAbort();
  else client.addEventListener("abort", onAbort, { once: true });
  const detach = (): void => client.removeEventListener("abort", onAbort);
  return { signal: control.signal, client, detach, abort };
}
