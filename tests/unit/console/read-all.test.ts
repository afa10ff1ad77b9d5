import { expect, it } from "vitest";
import type { GatewayRow } from "../../../console/log-query.ts";
import { EXPORTED, readAll } from "../../../console/read-all.ts";

const row = (n: number): GatewayRow => ({ id: String(n) }) as GatewayRow;

it("an export ends at its bound, though there are more rows", async () => {
  const asked: (string | null)[] = [];
  let n = 0;
  const rows = await readAll(
    (before) => {
      // Far more than the bound, and an end: a reader without one fails, and does not hang.
      const isOver = asked.push(before) > 2 * (EXPORTED / 1000);
      return Promise.resolve({
        rows: Array.from({ length: 1000 }, () => row(++n)),
        total: n,
        hasMore: !isOver,
      });
    },
    () => undefined,
  );
  expect(rows).toHaveLength(EXPORTED);
  expect(asked.slice(0, 3)).toEqual([null, "1000", "2000"]);
});

it("an export has all rows, page after page", async () => {
  const progress: number[] = [];
  const pages = [[row(3), row(2)], [row(1)]];
  const rows = await readAll(
    () => {
      const [page = []] = pages.splice(0, 1);
      return Promise.resolve({ rows: page, total: 3, hasMore: pages.length > 0 });
    },
    (read) => progress.push(read),
  );
  expect(rows.map(({ id }) => id)).toEqual(["3", "2", "1"]);
  expect(progress).toEqual([2, 3]);
});
