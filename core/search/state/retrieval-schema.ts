import { notArray } from "../../http/fields/schema-fields.ts";
import * as v from "valibot";
import { type Boost, boostBy } from "./instance-schema.ts";
import { type TypoTolerance, typoTolerance } from "../terms/typo-tolerance.ts";

type Opt<T> = T | undefined;

/** `ai_search_options.retrieval` of a request. Options for which the hosted API has no name are named as in Meilisearch. */
export interface RetrievalOptions {
  readonly retrieval_type?: Opt<"vector" | "keyword" | "hybrid">;
  readonly match_threshold?: Opt<number>;
  readonly max_num_results?: Opt<number>;
  readonly filters?: Opt<Readonly<Record<string, unknown>>>;
  readonly context_expansion?: Opt<number>;
  readonly fusion_method?: Opt<"rrf" | "max">;
  readonly keyword_match_mode?: Opt<"and" | "or">;
  readonly boost_by?: Opt<readonly Boost[]>;
  readonly metadata_only?: Opt<boolean>;
  readonly return_on_failure?: Opt<boolean>;
  /** Reads phrases in quotation marks and `-exclusions`. @default `retrieval_options.query_operators` of the instance */
  readonly query_operators?: Opt<boolean>;
  /** @default that of the instance */
  readonly typo_tolerance?: Opt<TypoTolerance>;
  /** Takes the last word for the beginning of one, as a search box asks while somebody types. @default false */
  readonly prefix?: Opt<boolean>;
  /** Fields whose values are counted. */
  readonly facets?: Opt<readonly string[]>;
  /** `field:asc` or `field:desc`, the first one first. */
  readonly sort?: Opt<readonly string[]>;
  /** A field of which each value is shown once; `key` is the item. */
  readonly distinct?: Opt<string>;
  readonly attributes_to_highlight?: Opt<readonly ("text" | "heading" | "*")[]>;
  /** @default "<em>" */
  readonly highlight_pre_tag?: Opt<string>;
  /** @default "</em>" */
  readonly highlight_post_tag?: Opt<string>;
  readonly show_matches_position?: Opt<boolean>;
}

/** Makes a schema that refuses unknown options: ignored, they would only seem to work. */
export const optionsOf = <T extends v.ObjectEntries>(entries: T): v.StrictObjectSchema<T, string> =>
  v.strictObject(entries, "Unknown option");

/** A share from 0 to 1. */
const unit = v.pipe(v.number(), v.finite(), v.minValue(0), v.maxValue(1));
const whole = (min: number, max: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max));
const field = v.pipe(v.string(), v.minLength(1), v.maxLength(64));
const tag = v.pipe(v.string(), v.maxLength(64));
const areDifferent = (all: readonly string[]): boolean => new Set(all).size === all.length;

/** Checks {@link RetrievalOptions}; which fields there are the instance knows. */
export const retrievalOptions: v.GenericSchema<unknown, RetrievalOptions> = v.pipe(
  notArray,
  optionsOf({
    retrieval_type: v.optional(v.picklist(["vector", "keyword", "hybrid"])),
    match_threshold: v.optional(unit),
    max_num_results: v.optional(whole(1, 50)),
    filters: v.optional(v.pipe(notArray, v.record(v.string(), v.unknown()))),
    context_expansion: v.optional(whole(0, 3)),
    fusion_method: v.optional(v.picklist(["rrf", "max"])),
    keyword_match_mode: v.optional(v.picklist(["and", "or"])),
    boost_by: v.optional(boostBy),
    metadata_only: v.optional(v.boolean()),
    return_on_failure: v.optional(v.boolean()),
    query_operators: v.optional(v.boolean()),
    typo_tolerance: v.optional(typoTolerance),
    prefix: v.optional(v.boolean()),
    facets: v.optional(
      v.pipe(
        v.array(field),
        v.maxLength(10),
        v.check((all) => areDifferent(all), "expected different fields"),
      ),
    ),
    sort: v.optional(
      v.pipe(
        v.array(
          v.pipe(
            v.string(),
            v.maxLength(69),
            v.regex(/^.{1,64}:(?:asc|desc)$/u, 'expected "field:asc" or "field:desc"'),
          ),
        ),
        v.maxLength(3),
        v.check(
          (all) => areDifferent(all.map((entry) => entry.slice(0, entry.lastIndexOf(":")))),
          "expected different fields",
        ),
      ),
    ),
    distinct: v.optional(field),
    attributes_to_highlight: v.optional(
      v.pipe(v.array(v.picklist(["text", "heading", "*"])), v.maxLength(3)),
    ),
    highlight_pre_tag: v.optional(tag),
    highlight_post_tag: v.optional(tag),
    show_matches_position: v.optional(v.boolean()),
  }),
);
