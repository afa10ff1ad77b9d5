import type { Boost } from "../state/instance-schema.ts";
import type { TypoTolerance } from "../terms/typo-tolerance.ts";
import type { Highlighting } from "../refine/highlight.ts";
import type { QueryVector } from "./vector-leg.ts";
import type { ErrorName } from "../../http/codes.ts";

/** Which legs a search asks. */
export type RetrievalType = "vector" | "keyword" | "hybrid";

/** One search of an instance; options that are missing take the instance's settings. */
export type SearchInput = {
  readonly query: string;
  readonly type?: RetrievalType | undefined;
  readonly threshold?: number | undefined;
  readonly limit?: number | undefined;
  /** A filter object of either dialect, as JSON text. */
  readonly filters?: string | undefined;
  readonly keywordMode?: "and" | "or" | undefined;
  readonly fusion?: "rrf" | "max" | undefined;
  readonly expansion?: number | undefined;
  readonly boostBy?: readonly Boost[] | undefined;
  readonly metadataOnly?: boolean | undefined;
  readonly returnOnFailure?: boolean | undefined;
  readonly vector?: QueryVector | undefined;
  /** Whether phrases in quotation marks and exclusions are read. */
  readonly operators?: boolean | undefined;
  readonly typoTolerance?: TypoTolerance | undefined;
  /** Whether the last word may be the beginning of one. */
  readonly prefix?: boolean | undefined;
  /** Fields whose values are counted over all that matches. */
  readonly facets?: readonly string[] | undefined;
  /** Fields with `:asc` or `:desc`, the first one first. */
  readonly sort?: readonly string[] | undefined;
  readonly distinct?: string | undefined;
  readonly highlight?: Highlighting | undefined;
};

/** A part of a request that was left undone, by the name of the failure that it would be. */
export interface SearchNote {
  readonly name: ErrorName;
  readonly message: string;
}
