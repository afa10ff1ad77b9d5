import type { FoundChunk, SearchUnderTest } from "./search-api.ts";

export const custom_metadata = [
  { field_name: "kind", data_type: "text" },
  { field_name: "price", data_type: "number" },
  { field_name: "sold", data_type: "boolean" },
  { field_name: "made", data_type: "datetime" },
];

/** What a search with facets and highlighting answers. */
export type RefinedResult = {
  readonly chunks: readonly (FoundChunk & {
    readonly formatted?: Readonly<Record<string, string>>;
    readonly matches_position?: Readonly<
      Record<string, readonly { start: number; length: number }[]>
    >;
  })[];
  readonly facet_distribution?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  readonly facet_stats?: Readonly<Record<string, unknown>>;
};

/** Searches with options of its retrieval, whatever the score. */
export async function searchRefined(
  api: SearchUnderTest,
  query: string,
  retrieval: Record<string, unknown>,
  more: Record<string, unknown> = {},
  path = "/instances/main/search",
): Promise<RefinedResult> {
  const body = {
    query,
    ai_search_options: { retrieval: { match_threshold: 0, ...retrieval }, ...more },
  };
  const answer = await api.call("POST", path, body);
  if (answer.status !== 200) throw new Error(answer.body.errors[0]?.message);
  return answer.body.result;
}

export const keysOf = ({ chunks }: RefinedResult): string[] => chunks.map(({ item }) => item.key);
