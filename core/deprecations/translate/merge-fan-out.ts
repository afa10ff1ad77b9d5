import type { FanOutView } from "./dns-filters.ts";

/** A record of a list, as far as merging looks at it. */
export interface ListedRecord extends Readonly<Record<string, unknown>> {
  readonly id: string;
}

/** One page of the merged list, as the API shows it. */
export interface MergedPage {
  readonly result: readonly ListedRecord[];
  readonly result_info: {
    readonly page: number;
    readonly per_page: number;
    readonly count: number;
    readonly total_count: number;
    readonly total_pages: number;
  };
}

/**
 * Merges the complete answers to the queries of a fan-out: every record once, ordered by the asked field (ties and no
 * field: in the order in which they came), cut to the asked page.
 */
export function mergeFanOut(
  lists: readonly (readonly ListedRecord[])[],
  view: FanOutView,
): MergedPage {
  const byId = new Map<string, ListedRecord>();
  for (const record of lists.flat()) {
    if (!byId.has(record.id)) byId.set(record.id, record);
  }
  const { order, page, perPage } = view;
  const sign = view.direction === "desc" ? -1 : 1;
  const all = [...byId.values()];
  const sorted = order === null ? all : all.toSorted((a, b) => sign * compare(a[order], b[order]));
  const result = sorted.slice((page - 1) * perPage, page * perPage);
  const result_info = {
    page,
    per_page: perPage,
    count: result.length,
    total_count: sorted.length,
    total_pages: Math.ceil(sorted.length / perPage),
  };
  return { result, result_info };
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [text(a), text(b)];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function text(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
