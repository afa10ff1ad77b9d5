import { toBase64 } from "../../../crypto/encoding.ts";
import { seal, sealingKey, unseal } from "../../../crypto/seal.ts";
import type { ActorContext, Statement } from "../../../ports.ts";
import type { CrawlBody } from "./crawl-schema.ts";

/** The secrets that seal the requests of crawls. */
export interface CrawlSecrets {
  /** Null: each crawl gets a key of its own beside its row. */
  readonly master: string | null;
  /** Master secrets of before, which still open what they sealed. */
  readonly former: readonly string[];
}

/** A request as its row has it. */
interface StoredInput {
  readonly url: string;
  /** The owner of the crawl; absent in crawls from before it was stored. */
  readonly owner?: string;
  /** The whole request as JSON; absent when the crawl has ended. */
  readonly sealed?: string;
}

/** Separates these keys from other uses of one master secret. */
const PURPOSE = "crawls";

/**
 * Seals a request for its row, and returns the statements that its key needs. Cookies, headers and keys of models lie
 * sealed there.
 */
export async function sealInput(
  { name, system }: ActorContext,
  { master }: CrawlSecrets,
  input: CrawlBody,
  owner: string,
): Promise<{ readonly stored: string; readonly statements: readonly Statement[] }> {
  const own = master === null ? toBase64(system.random(32)) : null;
  const key = await sealingKey(master ?? own ?? "", PURPOSE);
  const sealed = await seal(key, JSON.stringify(input), name, system.random(12));
  const sql = "INSERT INTO rendering_crawl_keys (actor, master) VALUES (?, ?)";
  return {
    stored: JSON.stringify({ url: input.url, owner, sealed } satisfies StoredInput),
    statements: own === null ? [] : [{ sql, params: [name, own] }],
  };
}

/** Returns the stored remainder of a request after its crawl has ended. */
export function endedInput(url: string): string {
  return JSON.stringify({ url } satisfies StoredInput);
}

/** Returns the statement that forgets the key of a crawl that has ended. */
export function forgetKey(actor: string): Statement {
  return { sql: "DELETE FROM rendering_crawl_keys WHERE actor = ?", params: [actor] };
}

/** Opens the request of a row. `isOpen` is false, and only its address is there, when it is wiped or no secret opens it. */
export async function openInput(
  { name, sql }: ActorContext,
  { master, former }: CrawlSecrets,
  stored: string,
): Promise<{ readonly input: CrawlBody; readonly isOpen: boolean; readonly owner: string }> {
  const { url, sealed, owner = "" } = JSON.parse(stored) as StoredInput;
  if (sealed === undefined) return { input: { url }, isOpen: false, owner };
  const own = await sql.all("SELECT master FROM rendering_crawl_keys WHERE actor = ?", [name]);
  const secrets = [
    ...own.map((row) => String(row["master"])),
    ...(master === null ? [] : [master]),
    ...former,
  ];
  for (const secret of secrets) {
    const text = await unseal(await sealingKey(secret, PURPOSE), sealed, name);
    if (text !== null) return { input: JSON.parse(text) as CrawlBody, isOpen: true, owner };
  }
  return { input: { url }, isOpen: false, owner };
}
