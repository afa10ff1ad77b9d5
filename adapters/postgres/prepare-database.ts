import { createOwnTables } from "./schema.ts";
import type { RunSession, Session } from "./session.ts";

/** The oldest version of PostgreSQL that is supported, as it numbers itself. */
const OLDEST = 140_000;

/** Checks that a database can be used, and makes the tables of the adapter; throws one line that says what to do. */
export async function prepareDatabase(url: string, session: RunSession): Promise<void> {
  const place = placeOf(url);
  if (!/^postgres(?:ql)?:\/\//u.test(url))
    throw new Error(
      'The address of the database begins with "postgres://": postgres://user:password@host:5432/database',
    );
  const fault = await session(async (one) => {
    const found = await faultOf(one);
    if (found === null) await createOwnTables(one);
    return found;
  }).catch((error: unknown) => connectFault(error));
  if (fault !== null) throw new Error(`The database at ${place} cannot be used: ${fault}`);
}

/** Returns the address of a database without login and settings. */
function placeOf(url: string): string {
  return url.replace(/^.*(?:@|:\/\/)/su, "").replace(/\?.*$/su, "");
}

const FACTS = `SELECT current_setting('server_version_num')::int AS version, version() AS name,
    current_setting('server_encoding') AS encoding, current_schema() AS place, current_user AS login,
    COALESCE(has_schema_privilege(current_schema(), 'CREATE'), false) AS creates,
    pg_is_in_recovery() AS reads_only, to_regclass('causey_schema') IS NOT NULL AS ours,
    (SELECT MIN(relname) FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p')) AS other`;

/** Says why a database that was reached cannot be used; null when it can. */
async function faultOf(session: Session): Promise<string | null> {
  const [facts = {}] = await session.all(FACTS);
  const text = (name: string): string => String(facts[name]);
  if (Number(facts["version"]) < OLDEST)
    return `it is ${text("name").split(" on ")[0]}: PostgreSQL 14 or newer is needed`;
  if (text("encoding") !== "UTF8")
    return `its encoding is ${text("encoding")}: create one with ENCODING 'UTF8'`;
  if (facts["reads_only"] === 1) return "it is a standby that takes no writes: name the primary";
  if (facts["place"] === null)
    return `no schema of the search path is there: CREATE SCHEMA "${text("login")}"`;
  if (facts["ours"] !== 1 && facts["other"] !== null)
    return `it holds tables of another application, such as "${text("other")}": create a database for causey alone`;
  if (facts["creates"] !== 1)
    return `user "${text("login")}" may not create tables: GRANT CREATE ON SCHEMA "${text("place")}" TO "${text("login")}"`;
  return null;
}

const CONNECTION: readonly [RegExp, string][] = [
  [/^28/u, "it refuses the login: check user and password in the address, and pg_hba.conf"],
  [/^42501$/u, "the login may not connect: GRANT CONNECT ON DATABASE … TO …"],
  [/^3D000$/u, "it does not exist: create it with CREATE DATABASE"],
  [/^53300$/u, "it has no connection left: raise max_connections, or put a pooler in front"],
  [/^(?:ENOTFOUND|EAI_)/u, "its host is not found: check the address"],
  [/^ECONNREFUSED$/u, "nothing listens there: check host and port, and whether PostgreSQL runs"],
  [/^ECONNRESET$/u, "it closes the connection: check port and sslmode, and whether it speaks TLS"],
  [/^(?:CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH)$/u, "it does not answer: check host and port"],
];

/** Says why a database cannot be reached. An address that cannot be read stands in the runtime's message, with its password. */
function connectFault(error: unknown): string {
  const { code = "", message = String(error) } = (error ?? {}) as {
    readonly code?: string;
    readonly message?: string;
  };
  if (error instanceof URIError || (error instanceof TypeError && /\bURL\b/u.test(message)))
    return 'its address cannot be read: write "/" in a password as %2F, and "%" as %25';
  return CONNECTION.find(([pattern]) => pattern.test(code))?.[1] ?? message;
}
