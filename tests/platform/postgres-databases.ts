import { loadDriver } from "../../adapters/postgres/driver.ts";

/** A real PostgreSQL; `lacks` says why there is none. */
export type TestPostgres = { readonly url: string } | { readonly lacks: string };

/** Returns the PostgreSQL of this run from the address of its starter; the first call starts it. */
export async function runningPostgres(starter: string): Promise<TestPostgres> {
  const response = await fetch(starter);
  const answer = (await response.json()) as TestPostgres | { readonly fails: string };
  if ("fails" in answer) throw new Error(answer.fails);
  return answer;
}

/** Makes an empty database and returns its address. */
export async function newDatabase(starter: string, settings = ""): Promise<string> {
  const postgres = await runningPostgres(starter);
  if ("lacks" in postgres) throw new Error(postgres.lacks);
  const name = `test_${crypto.randomUUID().replaceAll("-", "")}`;
  await asAdmin(postgres.url, `CREATE DATABASE ${name} ${settings}`);
  return postgres.url.replace(/\/[^/]*$/u, `/${name}`);
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
