import { expect, it } from "vitest";
import type { SqliteConnection } from "../../adapters/shared/sqlite/sqlite-library.ts";
import { statements } from "../../adapters/shared/sqlite/sqlite-statements.ts";

/** A library that throws after it has deleted a row, as Node 26 does where full text leaves a last row id beyond 2^53. */
function strictLibrary(): SqliteConnection {
  let asBigInts = false;
  return {
    isOpen: true,
    isTransaction: false,
    exec: () => undefined,
    close: () => undefined,
    prepare: () => ({
      columns: () => [],
      all: () => [],
      run() {
        if (!asBigInts) throw new RangeError("Value is too large");
        return { changes: 1n, lastInsertRowid: 2n ** 60n };
      },
      setReadBigInts: (enabled) => void (asBigInts = enabled),
    }),
  };
}

it("a statement may leave a last row id that JavaScript has no number for", () => {
  const { run } = statements(strictLibrary());
  expect(run("DELETE FROM words WHERE rowid = ?", [1])).toEqual({ rows: [], changes: 1 });
});
