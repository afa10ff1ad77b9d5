import type { Log } from "../../../core/ports.ts";

/** How long after a failed write its reason stands, in ms. */
const STANDS_MS = 5000;

/** Whether the Durable Objects of this isolate take writes: they do not on a full disk, or above the limit of an account. */
export interface ObjectWrites {
  /** Notes that SQLite refused a write, and why. */
  refused(reason: string): void;
  /** Notes that an object broke and the platform kept the reason for itself. That may be a write that was not committed. */
  broke(reason: string): void;
  /** Notes that a write was committed. */
  committed(): void;
  /** Why writes fail; null while nothing says so; `unknown` when only another write can tell. */
  failure(): { readonly reason: string } | "unknown" | null;
}

/** Logs one line when writes begin to fail, and one when they succeed again. */
export function objectWrites(log: Log): ObjectWrites {
  let reason: string | null = null;
  let isSure = false;
  let since = 0;
  let failedAt = 0;

  const note = (why: string): void => {
    failedAt = Date.now();
    if (reason === null) since = failedAt;
    // SQLite's reason says more than that an object broke.
    if (reason === null || isSure) reason = why;
  };
  const say = (): void => {
    log("error", "The database takes no writes: what stores something is answered 503", { reason });
  };
  return {
    refused(why) {
      const isNews = !isSure;
      isSure = true;
      note(why);
      if (isNews) say();
    },
    broke(why) {
      if (isSure) return note(reason ?? why);
      note(why);
    },
    committed() {
      if (reason === null || Date.now() - failedAt < STANDS_MS) return;
      if (isSure)
        log("info", "The database takes writes again", {
          after_seconds: Math.round((Date.now() - since) / 1000),
        });
      reason = null;
      isSure = false;
    },
    failure() {
      if (reason === null) return null;
      return isSure && Date.now() - failedAt < STANDS_MS ? { reason } : "unknown";
    },
  };
}
