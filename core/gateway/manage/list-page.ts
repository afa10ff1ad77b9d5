import { invalidRequest } from "../../http/api-error.ts";

export interface ListPage {
  readonly page: number;
  readonly perPage: number;
  readonly offset: number;
}

const DEFAULT_PER_PAGE = 20;
const MAXIMUM_PER_PAGE = 100;

/** Reads `page` (from 1) and `per_page` (1 to 100, default 20) of a list request. */
export function listPage(query: (name: string) => string | undefined): ListPage {
  const page = positive("page", query("page"), 1, 1_000_000);
  const perPage = positive("per_page", query("per_page"), DEFAULT_PER_PAGE, MAXIMUM_PER_PAGE);
  return { page, perPage, offset: (page - 1) * perPage };
}

function positive(
  name: string,
  text: string | undefined,
  fallback: number,
  maximum: number,
): number {
  if (text === undefined || text === "") return fallback;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (number >= 1 && number <= maximum) return number;
  throw invalidRequest(
    `${name}: expected an integer from 1 to ${maximum}, got "${text.slice(0, 32)}"`,
  );
}

/** The paging facts of a list answer. A page past the end is empty, which is how clients stop. */
export function resultInfo(page: ListPage, count: number, total: number): Record<string, number> {
  return { page: page.page, per_page: page.perPage, count, total_count: total };
}
