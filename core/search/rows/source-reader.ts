import type { Metadata } from "../filter/metadata.ts";

export interface SourceEntry {
  readonly key: string;
  /** Changes with the content; null where the source has no name for its state, and it is compared itself. */
  readonly version: string | null;
  /** The position from which the reader goes on behind this entry. */
  readonly cursor: string;
  /** Loads the content. Throws the reason why the item cannot be had. */
  load(signal: AbortSignal): Promise<SourceContent>;
}

export interface SourceContent {
  readonly bytes: Uint8Array;
  readonly contentType: string;
  readonly metadata: Metadata;
  /** Unix ms. @default now */
  readonly modified?: number | undefined;
}

/** Some entries of a source. */
export interface SourcePart {
  readonly entries: readonly SourceEntry[];
  /** The position of the next part; null after the last. */
  readonly next: string | null;
  /** Entries that there are, as far as that is known. */
  readonly total?: number | undefined;
}

/** A source that is still being looked at. */
export interface SourceWait {
  /** Milliseconds after which to ask again. */
  readonly waitMs: number;
  readonly cursor: string;
  readonly total?: number | undefined;
}

/** Reads a source in parts, which a job takes up after any of them. */
export interface SourceReader {
  /** The `source_id` of its items. */
  readonly id: string;
  /** The part at a cursor; the first is at "". Throws what keeps the whole source from being read. */
  part(cursor: string, signal: AbortSignal): Promise<SourcePart | SourceWait>;
  /** Why what was not seen may be there nevertheless, so that nothing is deleted; null when all was seen. */
  incomplete(cursor: string): Promise<string | null>;
  /** Ends what goes on by itself, for a job that is cancelled. */
  cancel(cursor: string): Promise<void>;
}

/** Bytes of a key. */
export const MAX_SOURCE_KEY = 1024;
