import { createHash } from "node:crypto";

/** One request to a model server that speaks as the real providers do. */
export interface NativeRequest {
  readonly method: string;
  readonly path: string;
  readonly header: (name: string) => string | undefined;
  /** The JSON body; empty for another type. */
  readonly json: Record<string, unknown>;
  /** The fields and files of a multipart body. */
  readonly form: () => Promise<FormData>;
}

/** What it answers: JSON, the events of a stream, or bytes. */
export type NativeReply =
  | { readonly status?: number; readonly json: unknown; readonly headers?: Record<string, string> }
  | { readonly events: string }
  | { readonly bytes: Uint8Array; readonly type: string };

/** 256 KiB that no text encoding survives: what `audio/speech` and a file's content are. */
export const soundBytes: Uint8Array = Uint8Array.from(
  { length: 256 * 1024 },
  (_, index) => (index * 167 + (index >> 8)) & 0xff,
);

/** A stable name of some bytes. */
export function fingerprint(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** What every model here says. */
export const spoken = "Grüße from upstream 🌍";
/** `spoken` as it arrives in a stream. */
export const spokenParts: readonly string[] = ["Grüße", " from upstream", " 🌍"];
/** The arguments with which a model calls the first tool that it is offered. */
export const toolArguments = { city: "Köln" } as const;

/** Server-sent events of one `data:` line each. */
export function dataEvents(payloads: readonly unknown[]): string {
  return payloads.map((payload) => `data: ${JSON.stringify(payload)}\n\n`).join("");
}

/** Server-sent events that repeat their payload's `type` as their name. */
export function namedEvents(payloads: readonly { readonly type: string }[]): string {
  return payloads
    .map((payload) => `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`)
    .join("");
}
