import type { GatewayRow } from "./log-query.ts";

/** A page of rows, newest first. */
export interface LogPage {
  readonly rows: readonly GatewayRow[];
  /** Rows that fit, of those before the cursor. */
  readonly total: number;
  readonly hasMore: boolean;
}

/** Rows that an export holds at most. */
export const EXPORTED = 10_000;

/** Reads page after page, newest first, up to `most` rows. */
export async function readAll(
  pageBefore: (id: string | null) => Promise<LogPage>,
  onProgress: (rows: number) => void,
  most: number = EXPORTED,
): Promise<readonly GatewayRow[]> {
  const found: GatewayRow[] = [];
  for (;;) {
    const { rows, hasMore } = await pageBefore(found.at(-1)?.id ?? null);
    found.push(...rows);
    onProgress(found.length);
    if (!hasMore || rows.length === 0 || found.length >= most) return found;
  }
}
