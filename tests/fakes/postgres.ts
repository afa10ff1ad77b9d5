import { inject } from "vitest";
import { loadDriver } from "../../adapters/postgres/driver.ts";

/** A real PostgreSQL; `lacks` says why there is none. */
export type TestPostgres = { readonly url: string } | { readonly lacks: string };

/** Returns the PostgreSQL of this run; the first call starts it. */
async function startPostgres(): Promise<TestPostgres> {
  const response = await fetch(inject("postgres"));
  const answer = (await response.json()) as TestPostgres | { readonly fails: string };
  if ("fails" in answer) throw new Error(answer.fails);
  return answer;
}

/** Makes an empty database; `lacks` says why there is none. */
export async function freshDatabase(settings = ""): Promise<TestPostgres> {
  const postgres = await startPostgres();
  if ("lacks" in postgres) return postgres;
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await asAdmin(postgres.url, `CREATE DATABASE ${name} ${settings}`);
  return { url: postgres.url.replace(/\/[^/]*$/u, `/${name}`) };
}

/** Runs statements on a database by a connection of their own; returns the rows of the last. */
export async function asAdmin(
  url: string,
  sql: string,
): Promise<readonly Record<string, unknown>[]> {
  const client = (await loadDriver())(url, { max: 1, onnotice: () => undefined });
  try {
    return Array.from(await client.unsafe(sql));
  } finally {
    await client.end();
  }
}
