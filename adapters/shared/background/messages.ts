import type { ApiErrorData } from "../../../core/http/api-error.ts";
import type { Plain } from "../../../core/ports.ts";

export interface TaskMessage {
  readonly name: string;
  readonly input: Plain;
}

export type TaskOutcome =
  | { readonly output: Plain }
  | { readonly refused: ApiErrorData }
  | { readonly failed: string }
  /** It took more than it may; the reason, e.g. "it takes more than 512 MB of memory". */
  | { readonly overran: string };

/** An answer of a process. */
export type ProcessAnswer = TaskOutcome & {
  /** It ends now: it holds too much memory for a further task. */
  readonly isLast?: boolean;
};

/** Returns the buffers of bytes, or of a value's own members that are bytes: they change hands instead of being copied. */
export function buffersOf(value: Plain): ArrayBuffer[] {
  if (typeof value !== "object" || value === null) return [];
  // The members of bytes are numbers, of which there may be millions.
  const members = value instanceof Uint8Array ? [value] : Object.values(value);
  return members.flatMap((member) =>
    member instanceof Uint8Array &&
    member.buffer instanceof ArrayBuffer &&
    member.byteLength === member.buffer.byteLength
      ? [member.buffer]
      : [],
  );
}
