import type { LeaseStore } from "./lease-store.ts";

/** Whether a node may work with the tables. */
export interface NodeRefusal {
  /** Refuses the node for a reason, and has it listed with it. The first reason counts. */
  refuse(reason: string): void;
  /** Says so to the public; null while it may. */
  failure(): string | null;
  /** Resolves with the reason once it is stored, or could not be. */
  readonly refused: Promise<string>;
  /** Resolves when nothing is being stored. */
  settled(): Promise<void>;
}

const OTHER_VERSION = "The tables in the database are for another version of this server";

/** Makes the refusal of a node that may work with them so far. */
export function nodeRefusal(store: Pick<LeaseStore, "refuse">): NodeRefusal {
  const refused = Promise.withResolvers<string>();
  let storing: Promise<void> | undefined;
  return {
    refuse(reason) {
      // The list is for people: without it, too, the process may end.
      storing ??= store
        .refuse(reason)
        .catch(() => undefined)
        .then(() => {
          refused.resolve(reason);
        });
    },
    failure: () => (storing === undefined ? null : OTHER_VERSION),
    refused: refused.promise,
    settled: async () => storing,
  };
}
