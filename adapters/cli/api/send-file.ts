import { setTimeout as pause } from "node:timers/promises";
import { type ApiClient, ServerRefusal } from "./api-client.ts";

/** Files under way at a time. */
const LANES = 4;
/** How often a busy server is asked again for one file. */
const ATTEMPTS = 6;
/** Longest pause before the next attempt, in ms. */
const LONGEST_PAUSE = 30_000;
/** Milliseconds that one upload may take. */
const UPLOAD_MS = 120_000;

/** Uploads a file to a search instance, again while the server is busy. The answer is the item. */
export async function sendFile<Item extends object>(
  api: ApiClient,
  path: string,
  key: string,
  read: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<Item> {
  for (let attempt = 1; ; attempt++) {
    const form = new FormData();
    form.set("file", new File([await read()], key));
    try {
      const question = { method: "POST", form, deadline: UPLOAD_MS };
      return (await api.ask<Item>(`${path}/items`, question)).result;
    } catch (error) {
      const isBusy = error instanceof ServerRefusal && [429, 503].includes(error.status);
      if (!isBusy || attempt === ATTEMPTS) throw error;
      await pause(Math.min(error.waitMs ?? 250 * 2 ** attempt, LONGEST_PAUSE));
    }
  }
}

/** An item with what its server says of its file. */
export interface SentItem {
  readonly error?: string;
  /** The parts of the file that could not be read. @default all was read */
  readonly warnings?: readonly { readonly message?: string; readonly page?: number }[];
}

/** Returns what an item lacks of its file as text; undefined when it lacks nothing. */
export function lackOf({ error, warnings = [] }: SentItem): string | undefined {
  const texts = warnings.flatMap(({ message, page }) =>
    message === undefined ? [] : [page === undefined ? message : `page ${page}: ${message}`],
  );
  return error ?? (texts.length === 0 ? undefined : texts.join("; "));
}

/** Works on all of `things`, some at a time, until one piece of work rejects. */
export async function inLanes<T>(
  things: readonly T[],
  work: (thing: T) => Promise<void>,
): Promise<void> {
  const waiting = [...things].toReversed();
  const lane = async (): Promise<void> => {
    for (let thing = waiting.pop(); thing !== undefined; thing = waiting.pop()) {
      await work(thing).catch((error: unknown) => {
        waiting.length = 0;
        throw error;
      });
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
}

/** Whether a file could not be read, whatever the server does. */
export function isUnreadable(error: unknown): error is Error {
  return error instanceof Error && "syscall" in error && "path" in error;
}
