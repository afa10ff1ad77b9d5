/** The tables of a crawl, see `crawl-actor.ts`. All in the subset of SQLite and PostgreSQL. Times are of `steady()` where they end in `due`. */
export const crawlTables: readonly string[] = [
  `CREATE TABLE rendering_crawls (
    actor TEXT PRIMARY KEY, input TEXT NOT NULL, status TEXT NOT NULL, homes TEXT NOT NULL, next_seq INTEGER NOT NULL,
    total INTEGER NOT NULL, finished INTEGER NOT NULL, completed INTEGER NOT NULL, skipped INTEGER NOT NULL,
    bytes INTEGER NOT NULL, browser_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL, ended_ms INTEGER,
    told INTEGER NOT NULL, due INTEGER NOT NULL)`,
  `CREATE TABLE rendering_crawl_pages (
    actor TEXT NOT NULL, seq INTEGER NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL, depth INTEGER NOT NULL,
    status TEXT NOT NULL, attempts INTEGER NOT NULL, meta TEXT, error TEXT, sizes TEXT, PRIMARY KEY (actor, seq),
    UNIQUE (actor, url))`,
  "CREATE INDEX rendering_crawl_pages_host ON rendering_crawl_pages (actor, status, host, seq)",
  "CREATE INDEX rendering_crawl_pages_status ON rendering_crawl_pages (actor, status, seq)",
  // Each format of a page as JSON text, ready to be sent; in parts, because some databases bound a row to 2 MB.
  `CREATE TABLE rendering_crawl_content (
    actor TEXT NOT NULL, seq INTEGER NOT NULL, format TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (actor, seq, format, part))`,
  `CREATE TABLE rendering_crawl_sites (
    actor TEXT NOT NULL, origin TEXT NOT NULL, robots TEXT NOT NULL, PRIMARY KEY (actor, origin))`,
  // The key that seals the request of a running crawl, where the operator has no master secret.
  "CREATE TABLE rendering_crawl_keys (actor TEXT PRIMARY KEY, master TEXT NOT NULL)",
  // The `traceparent` of the request behind it.
  "ALTER TABLE rendering_crawls ADD COLUMN trace TEXT",
  // The text that all addresses of a page share; the same of the address that the page gives itself; and the pattern of
  // which a site may make endlessly many.
  "ALTER TABLE rendering_crawl_pages ADD COLUMN page_key TEXT",
  "ALTER TABLE rendering_crawl_pages ADD COLUMN other_key TEXT",
  "ALTER TABLE rendering_crawl_pages ADD COLUMN pattern TEXT",
  "UPDATE rendering_crawl_pages SET page_key = url",
  "CREATE INDEX rendering_crawl_pages_key ON rendering_crawl_pages (actor, page_key)",
  "CREATE INDEX rendering_crawl_pages_other ON rendering_crawl_pages (actor, other_key)",
  "CREATE INDEX rendering_crawl_pages_pattern ON rendering_crawl_pages (actor, pattern)",
  // The pages that were read, left out and took no place: links that the options leave out are not among them.
  "ALTER TABLE rendering_crawls ADD COLUMN freed INTEGER NOT NULL DEFAULT 0",
];

/** Every table that holds rows of a crawl, for its deletion: the one that says that it exists is last. */
export const crawlTableNames: readonly string[] = [
  "rendering_crawl_keys",
  "rendering_crawl_sites",
  "rendering_crawl_content",
  "rendering_crawl_pages",
  "rendering_crawls",
];

/** The table of an account's crawls. */
export const crawlListTables: readonly string[] = [
  `CREATE TABLE rendering_crawl_list (
    actor TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL, status TEXT NOT NULL, total INTEGER NOT NULL,
    finished INTEGER NOT NULL, skipped INTEGER NOT NULL, created_ms INTEGER NOT NULL, ended_ms INTEGER,
    PRIMARY KEY (actor, id))`,
  "CREATE INDEX rendering_crawl_list_created ON rendering_crawl_list (actor, created_ms)",
];
