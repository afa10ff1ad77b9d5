import { expect } from "vitest";
import type { ActorKind, Sql, SqlValue, Statement } from "../../core/ports.ts";
import { SqlError } from "../../core/sql/sql-error.ts";
import { asSet, contains, isOneOf } from "../../core/sql/sql-text.ts";
import type { Suite } from "./suite.ts";

/** The tables that the suite works on. */
const sqlSchema: readonly string[] = [
  "CREATE TABLE t_items (actor TEXT NOT NULL, id TEXT NOT NULL, n INTEGER, r REAL, b BLOB, PRIMARY KEY (actor, id))",
  "CREATE TABLE t_other (actor TEXT NOT NULL, id TEXT NOT NULL); CREATE INDEX t_other_id ON t_other (id)",
];

const insert = (id: string, n: SqlValue = null): Statement => ({
  sql: "INSERT INTO t_items (actor, id, n) VALUES ('a', ?, ?)",
  params: [id, n],
});

async function reasonOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "no error";
  } catch (error) {
    expect(error).toBeInstanceOf(SqlError);
    return (error as SqlError).reason;
  }
}

const count = async (sql: Sql): Promise<number> =>
  Number((await sql.all("SELECT count(*) AS n FROM t_items"))[0]?.["n"]);

/** What every `Sql` shows. */
export const sqlSuite: Suite<Sql> = {
  port: "Sql",
  needs: "actors",
  cases: [
    {
      name: "batch() returns the rows and the changes of each statement",
      async run(sql) {
        const results = await sql.batch([
          insert("x", 1),
          { sql: "INSERT INTO t_items (actor, id) VALUES ('a', 'y'), ('a', 'z') RETURNING id" },
          { sql: "UPDATE t_items SET n = 7" },
          { sql: "SELECT id FROM t_items ORDER BY id" },
          { sql: "DELETE FROM t_items WHERE id = 'nobody'" },
        ]);
        expect(results.map(({ changes }) => changes)).toEqual([1, 2, 3, 0, 0]);
        expect(results[1]?.rows.map((row) => row["id"])).toEqual(["y", "z"]);
        expect(results[3]?.rows.map((row) => row["id"])).toEqual(["x", "y", "z"]);
      },
    },
    {
      name: "batch() of thousands of statements is one, too, and is seen by the next query",
      async run(sql) {
        const ids = Array.from({ length: 2000 }, (_, n) => `long${n}`);
        const results = await sql.batch(ids.map((id, n) => insert(id, n)));
        expect(results.map(({ changes }) => changes)).toEqual(ids.map(() => 1));
        expect(await count(sql)).toBe(2000);
        const more = [...ids.map((id) => insert(`more ${id}`)), insert("long7")];
        expect(await reasonOf(sql.batch(more))).toBe("constraint");
        expect(await count(sql)).toBe(2000);
        await sql.batch([{ sql: "DELETE FROM t_items" }]);
        expect(await count(sql)).toBe(0);
      },
    },
    {
      name: "isOneOf() finds texts of any characters and numbers of any size, a thousand in one parameter",
      async run(sql) {
        const texts = ["", "a", 'q"q', "b\\b", "né", "日本", "😀", "line\nbreak", "%_"];
        const numbers = [0, -1, 0.1, 1e21, 5e-324, 9_007_199_254_740_991];
        await sql.batch([
          ...texts.map((id) => insert(id)),
          ...numbers.map((r, n): Statement => ({
            sql: "INSERT INTO t_items (actor, id, n, r) VALUES ('b', ?, ?, ?)",
            params: [`r${n}`, n, r],
          })),
        ]);
        const found = async (where: string, values: readonly (string | number)[]) =>
          (await sql.all(`SELECT id FROM t_items WHERE ${where}`, [asSet(values)])).length;
        const many = Array.from({ length: 1000 }, (_, i) => `more${i}`);
        expect(await found(isOneOf("id", "TEXT"), [...texts, ...many])).toBe(texts.length);
        expect(await found(isOneOf("id", "TEXT"), ["A", "q", "b"])).toBe(0);
        expect(await found(isOneOf("r", "DOUBLE PRECISION"), numbers)).toBe(numbers.length);
        expect(await found(isOneOf("n", "BIGINT"), [0, 5, 77])).toBe(2);
        expect(await found(isOneOf("n", "BIGINT"), [])).toBe(0);
      },
    },
    {
      name: "whole numbers beyond 2^53 read back rounded, and hide no other row",
      async run(sql) {
        const large = [1e16, 2 ** 62, -1e17];
        await sql.batch(large.map((n, index) => insert(`large${index}`, n)));
        await sql.batch([insert("small", 7)]);
        const rows = await sql.all("SELECT n FROM t_items ORDER BY id");
        expect(rows.map(({ n }) => n)).toEqual([...large, 7]);
        const [updated] = await sql.batch([
          { sql: "UPDATE t_items SET n = n + 0 WHERE n > 7 RETURNING n" },
        ]);
        expect(updated?.rows.map(({ n }) => n)).toEqual([1e16, 2 ** 62]);
      },
    },
    {
      name: "whole numbers beyond 2^53 are written and read whole as texts",
      async run(sql) {
        const texts = ["9007199254740993", "9223372036854775807", "-9223372036854775808"];
        await sql.batch(
          texts.map((text, index): Statement => ({
            sql: "INSERT INTO t_items (actor, id, n) VALUES ('a', ?, CAST(? AS BIGINT))",
            params: [`n${index}`, text],
          })),
        );
        const rows = await sql.all("SELECT CAST(n AS TEXT) AS n FROM t_items ORDER BY id");
        expect(rows.map(({ n }) => n)).toEqual(texts);
      },
    },
    {
      name: "a bound limit and offset hold, and a text that looks like one stays as it is",
      async run(sql) {
        await sql.batch([insert("a"), insert("b"), insert("LIMIT ?")]);
        const page = "SELECT id, 'LIMIT ?' AS text FROM t_items ORDER BY id LIMIT ? OFFSET ?";
        expect(await sql.all(page, [2, 0])).toEqual([
          { id: "LIMIT ?", text: "LIMIT ?" },
          { id: "a", text: "LIMIT ?" },
        ]);
        expect(await sql.all(page, [1, 2])).toEqual([{ id: "b", text: "LIMIT ?" }]);
      },
    },
    {
      name: "contains() takes a text as it is, letter case ignored",
      async run(sql) {
        await sql.batch([insert("50% OFF"), insert("50 percent off")]);
        const rows = await sql.all(`SELECT id FROM t_items WHERE ${contains("id")}`, ["% off"]);
        expect(rows.map((row) => row["id"])).toEqual(["50% OFF"]);
      },
    },
    {
      name: "texts come back with U+0000 and U+0001 in them, and keep the order of their bytes",
      async run(sql) {
        const texts = "|\0|\0\0a|\0b|\u0001|\u0001\0|\u0001\u0001|\u0002|B|a|é".split("|");
        const written = await sql.batch([
          ...texts.toReversed().map((text) => insert(text)),
          { sql: "UPDATE t_items SET n = 1 WHERE id = ? RETURNING id", params: ["\0b"] },
        ]);
        expect(written.at(-1)?.rows).toEqual([{ id: "\0b" }]);
        const select = "SELECT id FROM t_items ORDER BY id";
        for (const how of [{}, { long: "a" }]) {
          const rows = await sql.all(select, [], how);
          expect(rows.map((row) => row["id"])).toEqual(texts);
        }
        expect(await sql.all("SELECT ? AS v", ["x\0y"])).toEqual([{ v: "x\0y" }]);
        // As a file has it that an older version wrote.
        expect(await sql.all("SELECT '\u0001x\u0001' AS v")).toEqual([{ v: "\u0001x\u0001" }]);
      },
    },
    {
      name: "a failing statement undoes its whole batch",
      async run(sql) {
        await sql.batch([insert("x")]);
        expect(await reasonOf(sql.batch([insert("y"), insert("x")]))).toBe("constraint");
        expect(await count(sql)).toBe(1);
      },
    },
    {
      name: "concurrent batches fail and succeed each for itself",
      async run(sql) {
        await sql.batch([insert("taken")]);
        const batches = Array.from({ length: 50 }, (_, i) =>
          sql.batch([insert(`n${i}`), ...(i % 5 === 0 ? [insert("taken")] : [])]),
        );
        const settled = await Promise.allSettled(batches);
        expect(
          settled.map(({ status }, i) => (status === "rejected") === (i % 5 === 0)),
        ).not.toContain(false);
        expect(await count(sql)).toBe(41);
      },
    },
    {
      name: "batches take effect in the order in which they were made",
      async run(sql) {
        await sql.batch([insert("x", 0)]);
        const set = (n: number): Statement => ({
          sql: "UPDATE t_items SET n = ? WHERE id = 'x'",
          params: [n],
        });
        await Promise.all(Array.from({ length: 30 }, (_, i) => sql.batch([set(i)])));
        expect((await sql.all("SELECT n FROM t_items"))[0]?.["n"]).toBe(29);
      },
    },
    {
      name: "an insert that meets its key changes 0 rows with ON CONFLICT DO NOTHING",
      async run(sql) {
        const once: Statement = {
          ...insert("x"),
          sql: `${insert("x").sql} ON CONFLICT DO NOTHING`,
        };
        const all = await Promise.all(Array.from({ length: 20 }, () => sql.batch([once])));
        expect(all.reduce((sum, [result]) => sum + (result?.changes ?? 0), 0)).toBe(1);
      },
    },
    {
      name: "values come back as they were bound",
      async run(sql) {
        const bytes = new Uint8Array([0, 1, 254, 255]);
        const big = Number.MAX_SAFE_INTEGER;
        await sql.batch([
          {
            sql: "INSERT INTO t_items (actor, id, n, r, b) VALUES ('a', ?, ?, ?, ?)",
            params: ["Grüße 🐘\u0001", big, -0.1, bytes],
          },
          {
            sql: "INSERT INTO t_items (actor, id, n, r, b) VALUES ('b', '', ?, NULL, NULL)",
            params: [-5n],
          },
        ]);
        const [one, two] = await sql.all("SELECT * FROM t_items ORDER BY actor");
        expect({ ...one }).toEqual({ actor: "a", id: "Grüße 🐘\u0001", n: big, r: -0.1, b: bytes });
        expect(one?.["b"]).toBeInstanceOf(Uint8Array);
        expect({ ...two }).toEqual({ actor: "b", id: "", n: -5, r: null, b: null });
      },
    },
    {
      name: "other values are refused as invalid",
      async run(sql) {
        const others: unknown[] = [
          true,
          undefined,
          {},
          [],
          new Date(0),
          Number.NaN,
          2n ** 60n,
          Symbol("x"),
        ];
        for (const value of others) {
          const wrong = { ...insert("x"), params: ["x", value as SqlValue] };
          const work = sql.batch([insert("before"), wrong]);
          expect([value, await reasonOf(work)]).toEqual([value, "invalid"]);
        }
        expect(await count(sql)).toBe(0);
      },
    },
    {
      name: "wrong SQL and a wrong number of values are invalid",
      async run(sql) {
        expect(await reasonOf(sql.all("SELEC 1"))).toBe("invalid");
        expect(await reasonOf(sql.all("SELECT * FROM no_such_table"))).toBe("invalid");
        expect(await reasonOf(sql.all("SELECT ?", []))).toBe("invalid");
        expect(await reasonOf(sql.all("SELECT ?", [1, 2]))).toBe("invalid");
        expect(
          (await sql.all("SELECT '?' AS a, ? AS b", ["x"])).map((row) => ({ ...row })),
        ).toEqual([{ a: "?", b: "x" }]);
      },
    },
    {
      name: "a NOT NULL violation is a constraint failure",
      async run(sql) {
        const missing = { sql: "INSERT INTO t_items (actor, id) VALUES ('a', ?)", params: [null] };
        expect(await reasonOf(sql.batch([missing]))).toBe("constraint");
      },
    },
    {
      name: "an error names no value",
      async run(sql) {
        const error = await sql
          .batch([insert("s3cret"), insert("s3cret")])
          .catch((thrown: unknown) => thrown);
        expect(String(error)).not.toContain("s3cret");
      },
    },
    {
      name: "full text search (FTS5) ranks what it finds, in SQLite",
      async run(sql) {
        if (sql.dialect !== "sqlite") return;
        await sql.batch([
          { sql: "CREATE VIRTUAL TABLE IF NOT EXISTS t_words USING fts5(body)" },
          {
            sql: "INSERT INTO t_words (body) VALUES ('a cat and a cat'), ('a cat and a dog'), ('a bird')",
          },
        ]);
        const rows = await sql.all(
          "SELECT body FROM t_words WHERE t_words MATCH ? ORDER BY bm25(t_words)",
          ["cat"],
        );
        expect(rows.map((row) => row["body"])).toEqual(["a cat and a cat", "a cat and a dog"]);
      },
    },
    {
      name: "an empty batch does nothing",
      async run(sql) {
        expect(await sql.batch([])).toEqual([]);
      },
    },
  ],
};

/** Runs the case of that name. */
export type RunSqlCase = (name: string) => Promise<unknown>;

/** Runs the cases: only an actor is given a database. */
export const sqlActor: ActorKind = {
  name: "sql-suite",
  schema: sqlSchema,
  start: ({ sql }) => ({
    methods: { run: (name: string) => sqlSuite.cases.find((one) => one.name === name)?.run(sql) },
  }),
};

/** The suite as it runs inside of {@link sqlActor}. */
export const sqlInside: Suite<RunSqlCase> = {
  ...sqlSuite,
  cases: sqlSuite.cases.map(({ name }) => ({
    name,
    run: (run) => run(name).then(() => undefined),
  })),
};
