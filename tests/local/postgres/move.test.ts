import { createHmac } from "node:crypto";
import { once } from "node:events";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { inspect } from "node:util";
import { beforeEach, describe, expect, inject, it, onTestFinished } from "vitest";
import { DatabaseSync } from "../../../adapters/shared/sqlite/database-sync.ts";
import { eventually, LONG } from "../../cases/eventually.ts";
import { asAdmin, freshDatabase, lacksPostgres } from "../../fakes/postgres.ts";
import { causey, causeyAll, seed, type Server, serve } from "../command/run-command.ts";

const lacks = await lacksPostgres();
const fresh = (): string => join(inject("scratch"), `move-${crypto.randomUUID()}`);

/** Asks a server as its owner. */
async function ask(server: Server, folder: string, path: string, json?: unknown): Promise<unknown> {
  const token = readFileSync(join(folder, "token"), "utf8").trim();
  const response = await fetch(`${server.url}/client/v4/accounts/local${path}`, {
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    ...(json === undefined ? {} : { method: "POST", body: JSON.stringify(json) }),
  });
  const body = (await response.json()) as { result: unknown; errors: unknown };
  expect([path, response.ok, body.errors]).toEqual([path, true, []]);
  return body.result;
}

const READS = [
  "/tokens",
  "/ai-gateway/gateways",
  "/ai-gateway/gateways/team/provider_configs",
  "/ai-search/namespaces",
  "/ai-search/instances",
  "/ai-search/instances/demo/items",
  "/webhooks/endpoints",
  "/webhooks/sources",
];
const question = { messages: [{ role: "user", content: "How do I rotate the master key?" }] };
const SEARCH = "/ai-search/instances/demo/search";

/** Receives webhooks, and tells whether their signatures are made with a secret. */
async function receiver(): Promise<{ url: string; signed: Record<string, string>[] }> {
  const signed: Record<string, string>[] = [];
  const server = createServer((request, response) => {
    const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": by } = request.headers;
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      signed.push({ text: `${String(id)}.${String(at)}.${body}`, by: String(by) });
      response.end();
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`, signed };
}

/** A folder, with what its server answered. */
interface Filled {
  readonly folder: string;
  readonly answers: unknown[];
  readonly found: unknown;
  /** Signs the webhooks; the server keeps it sealed. */
  readonly secret: string;
}

/** Makes a folder with rows of every part, and returns it with the answers of its server. */
async function filled(hook: string): Promise<Filled> {
  const folder = fresh();
  await seed(folder);
  const server = await serve(folder, ["--config", configFile(folder)]);
  const made = ["gateway", "create", "team", "--set", "cache_ttl=300", "--url", server.url];
  expect(await causey([...made, "--data-dir", folder])).toMatchObject({ code: 0 });
  await ask(server, folder, "/ai-gateway/gateways/team/provider_configs", {
    provider_slug: "openai",
    alias: "default",
    secret: "the-key-of-a-provider",
    default_config: true,
  });
  // `as`: the answer of a created endpoint.
  const { secret } = (await ask(server, folder, "/webhooks/endpoints", { url: hook })) as {
    secret: string;
  };
  const answers = await answersOf(server, folder);
  const found = await ask(server, folder, SEARCH, question);
  await server.stop();
  return { folder, answers, found, secret };
}

/** Lets webhooks reach this machine. */
function configFile(folder: string): string {
  const file = join(folder, "config.json");
  writeFileSync(file, JSON.stringify({ webhooks: { allowHosts: ["127.0.0.1"] } }));
  return file;
}

async function answersOf(server: Server, folder: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const path of READS) answers.push([path, await ask(server, folder, path)]);
  return answers;
}

/** All rows of a folder, with integers and reals apart; those of the clock go on by themselves. */
function rowsOf(folder: string): Record<string, string[]> {
  const db = new DatabaseSync(join(folder, "causey.db"));
  const all = (sql: string) => {
    const statement = db.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  };
  const tables = all("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'");
  const names = tables.map((row) => String(row["name"])).filter((name) => name !== "causey_clock");
  const rows = names.map((table): [string, string[]] => [
    table,
    all(`SELECT * FROM "${table}"`)
      .map((row) => inspect(row, { maxArrayLength: null, maxStringLength: null }))
      .toSorted(),
  ]);
  db.close();
  return Object.fromEntries(rows);
}

const newDatabase = (): Promise<string> => freshDatabase("ENCODING 'UTF8' TEMPLATE template0");

beforeEach(({ skip }) => {
  if (lacks !== undefined) skip(lacks);
});

describe("causey import between a folder and a database", () => {
  it("takes every row there and back, and what was sealed can be opened", LONG, async () => {
    const hook = await receiver();
    const { folder, answers, found, secret } = await filled(hook.url);
    const database = await newDatabase();
    const there = await causey(["import", "--from", folder, "--database", database]);
    expect(there.code, there.err).toBe(0);
    expect(there.out).toMatch(/^Imported \d+ rows of \d+ tables/u);
    expect(there.out).not.toContain("Left out");
    const untouched = fresh();
    expect(await causey(["import", "--to", untouched, "--database", database])).toMatchObject({
      code: 0,
    });
    expect(rowsOf(untouched)).toEqual(rowsOf(folder));
    await asAdmin(database, "INSERT INTO causey_news VALUES ('k', 'unheard', 1, 1)");
    const told = fresh();
    await causey(["import", "--to", told, "--database", database]);
    expect(rowsOf(told)["causey_alarms"]?.filter((row) => row.includes("unheard"))).toEqual([
      expect.stringMatching(/\bat: 0n\b/u),
    ]);
    await asAdmin(database, "DELETE FROM causey_alarms WHERE kind = 'k'");

    const config = ["--config", configFile(folder)];
    const server = await serve(folder, [...config, "--database", database]);
    expect(await answersOf(server, folder)).toEqual(answers);
    expect(await ask(server, folder, SEARCH, question)).toEqual(found);
    await ask(server, folder, "/webhooks/send", { type: "order.paid", payload: { id: 1 } });
    await eventually(() => hook.signed.length > 0, "the webhook");
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    const [{ text = "", by } = {}] = hook.signed;
    expect(by).toBe(`v1,${createHmac("sha256", key).update(text).digest("base64")}`);
    const [used, full] = await causeyAll([
      ["import", "--to", fresh(), "--database", database],
      ["import", "--from", untouched, "--database", database],
    ]);
    expect(used?.err).toMatch("A server uses the database");
    expect(full?.err).toMatch("A server uses the database");
    await server.stop();

    const back = fresh();
    const done = await causey(["import", "--to", back, "--json"], {
      CAUSEY_DATABASE_URL: database,
    });
    expect(done.code, done.err).toBe(0);
    expect(JSON.parse(done.out)).toMatchObject({ keywordIndexes: 1, leftOut: [] });
    cpSync(join(folder, "token"), join(back, "token"));
    cpSync(join(folder, "demo-webhook-secret"), join(back, "demo-webhook-secret"));
    const last = await serve(back);
    expect(await answersOf(last, back)).toEqual(answers);
    expect(await ask(last, back, SEARCH, question)).toEqual(found);
    await last.stop();
  });

  it("refuses what is in use, what is not empty and what holds nothing", LONG, async () => {
    const folder = fresh();
    await seed(folder);
    const [database, other] = [await newDatabase(), await newDatabase()];
    await asAdmin(other, "CREATE TABLE users (id INT)");
    const server = await serve(folder);
    const from = ["import", "--from", folder, "--database"];
    const held = await causeyAll([[...from, database]]);
    await server.stop();
    const refusals = await causeyAll([
      [...from, database],
      [...from, database],
      ["import", "--to", folder, "--database", database],
      ["import", "--from", fresh(), "--database", database],
      ["import", "--to", fresh(), "--database", await newDatabase()],
      [...from, other],
      ["import", "--from", folder],
      ["import", "--from", folder, "--to", folder, "--database", database],
    ]);
    expect([...held, ...refusals].map(({ err }) => err.replace(/\nhint[^]*/u, ""))).toEqual([
      `error: A server uses "${folder}"`,
      expect.stringMatching(/^\[#+\] +\d+ of \d+ rows/u),
      "error: The database is not empty: a server has used it, or an import filled it",
      `error: "${folder}" is not empty`,
      expect.stringMatching(/^error: There is no state in "/u),
      "error: There is no state in the database",
      expect.stringMatching(/tables of another application, such as "users"/u),
      "error: causey import --from needs a database",
      expect.stringMatching(/takes --from or --to, and not both/u),
    ]);
  });

  it(
    "leaves both ends as they were when it is stopped, or a row cannot be copied",
    LONG,
    async () => {
      const folder = fresh();
      await seed(folder);
      const db = new DatabaseSync(join(folder, "causey.db"));
      db.prepare("UPDATE search_instances SET next_chunk = ?").run("1 and more");
      const before = rowsOf(folder);
      const database = await newDatabase();
      const from = ["import", "--from", folder, "--database", database];
      expect((await causey(from)).err).toMatch(
        /^error: The rows of search_instances cannot be copied: /mu,
      );
      expect(rowsOf(folder)).toEqual(before);
      db.exec("UPDATE search_instances SET next_chunk = CAST(next_chunk AS INTEGER)");
      db.close();
      expect(await causey(from)).toMatchObject({ code: 0 });
    },
  );
});
