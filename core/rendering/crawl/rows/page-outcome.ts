import type { SourceDocument } from "../../pdf/pdf-reader.ts";
import type { CrawlFormat } from "./crawl-schema.ts";

export interface WaitingPage {
  readonly seq: number;
  readonly url: string;
  readonly host: string;
  readonly depth: number;
  /** Attempts that have begun. */
  readonly attempts: number;
}

export type FoundPage = {
  readonly url: string;
  /** The text that all addresses of the page share. */
  readonly key: string;
  /** The pattern of which a site may make endlessly many; null for any other address. */
  readonly pattern: string | null;
  /** Whether the crawl goes there. */
  readonly within: boolean;
};

/** Facts about a page that was fetched. */
export type PageMetadata = {
  readonly status: number;
  readonly url: string;
  readonly title?: string;
  /** The address by which the page wants to be known, where it is another one. */
  readonly canonical?: string;
  /** How it was read, of a crawl with `render: "auto"`. */
  readonly render?: "static" | "browser";
  /** The file that was read, for anything but a page. */
  readonly document?: SourceDocument;
};

export interface PageOutcome {
  readonly status: "completed" | "errored" | "disallowed" | "skipped";
  /** Absent when it was never fetched. */
  readonly meta?: PageMetadata;
  /** Why it is `errored`; of a start that was read, why pages of its sitemaps may be missing. */
  readonly error?: string;
  /** JSON texts. */
  readonly contents?: readonly (readonly [CrawlFormat, Uint8Array])[];
  readonly links?: readonly FoundPage[];
  /** The address that the page calls its canonical one; "" without. */
  readonly canonical?: string;
  /** Hosts that belong to the start as well. */
  readonly homes?: readonly string[];
  readonly browserMs?: number;
}
