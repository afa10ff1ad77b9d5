/** The tables of a search instance, see `instance-actor.ts`. All in the subset of SQLite and PostgreSQL. */
export const instanceTables: readonly string[] = [
  `CREATE TABLE search_instances (
    actor TEXT PRIMARY KEY, settings TEXT NOT NULL, next_chunk INTEGER NOT NULL, chunks INTEGER NOT NULL,
    trained_version INTEGER NOT NULL, trained_chunks INTEGER NOT NULL, active_ms INTEGER)`,
  `CREATE TABLE search_items (
    actor TEXT NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, error TEXT,
    revision INTEGER NOT NULL, indexed_revision INTEGER, pending TEXT,
    metadata TEXT NOT NULL, checksum TEXT NOT NULL, size INTEGER NOT NULL, content_type TEXT NOT NULL,
    chunks INTEGER, created_ms INTEGER NOT NULL, modified_ms INTEGER NOT NULL, seen_ms INTEGER NOT NULL,
    PRIMARY KEY (actor, id), UNIQUE (actor, key))`,
  // Some databases bound a row to 2 MB, so contents lie in parts.
  `CREATE TABLE search_content (
    actor TEXT NOT NULL, item_id TEXT NOT NULL, revision INTEGER NOT NULL, part INTEGER NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY (actor, item_id, revision, part))`,
  `CREATE TABLE search_chunks (
    actor TEXT NOT NULL, id INTEGER NOT NULL, item_id TEXT NOT NULL, ord INTEGER NOT NULL,
    start_byte INTEGER NOT NULL, end_byte INTEGER NOT NULL, heading TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (actor, id))`,
  "CREATE INDEX search_chunks_item ON search_chunks (actor, item_id, ord)",
  `CREATE TABLE search_meta (
    actor TEXT NOT NULL, item_id TEXT NOT NULL, field TEXT NOT NULL, num REAL, txt TEXT,
    PRIMARY KEY (actor, item_id, field))`,
  `CREATE TABLE search_vectors (
    actor TEXT NOT NULL, item_id TEXT NOT NULL, part INTEGER NOT NULL, model TEXT NOT NULL,
    dimensions INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (actor, item_id, part))`,
  `CREATE TABLE search_models (
    actor TEXT NOT NULL, name TEXT NOT NULL, part INTEGER NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (actor, name, part))`,
  `CREATE TABLE search_logs (
    actor TEXT NOT NULL, item_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    action TEXT NOT NULL, chunks INTEGER, error TEXT, message TEXT, took_ms INTEGER,
    PRIMARY KEY (actor, item_id, seq))`,
  `CREATE TABLE search_jobs (
    actor TEXT NOT NULL, id TEXT NOT NULL, description TEXT, started_ms INTEGER NOT NULL,
    ended_ms INTEGER, end_reason TEXT, seen_ms INTEGER NOT NULL, log TEXT NOT NULL,
    PRIMARY KEY (actor, id))`,
  // Items and jobs that wait to be indexed; times are of `steady()`.
  `CREATE TABLE search_work (
    actor TEXT NOT NULL, id TEXT NOT NULL, stage TEXT NOT NULL, revision INTEGER NOT NULL, token TEXT NOT NULL,
    due_ms INTEGER NOT NULL, lease_ms INTEGER NOT NULL, attempts INTEGER NOT NULL, PRIMARY KEY (actor, id))`,
  "CREATE INDEX search_work_due ON search_work (actor, due_ms)",
  `CREATE TABLE search_job_logs (
    actor TEXT NOT NULL, job_id TEXT NOT NULL, seq INTEGER NOT NULL, at_ms INTEGER NOT NULL,
    message TEXT NOT NULL, failed INTEGER NOT NULL, PRIMARY KEY (actor, job_id, seq))`,
  // The progress of a job, so that it goes on there.
  "ALTER TABLE search_jobs ADD COLUMN progress TEXT",
  // How an item was indexed, so that a sync job knows what it would only do again.
  "ALTER TABLE search_items ADD COLUMN recipe TEXT",
  // Vectors of two trainings lie side by side until one takes the place of the other.
  `CREATE TABLE search_item_vectors (
    actor TEXT NOT NULL, model TEXT NOT NULL, item_id TEXT NOT NULL, part INTEGER NOT NULL,
    dimensions INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (actor, model, item_id, part))`,
  "CREATE INDEX search_item_vectors_item ON search_item_vectors (actor, item_id)",
  `INSERT INTO search_item_vectors (actor, model, item_id, part, dimensions, data)
    SELECT actor, model, item_id, part, dimensions, data FROM search_vectors`,
  // Its place is taken; the step before reads it.
  "DELETE FROM search_vectors",
  // Answers to questions, by a hash of all that they depend on beside the question.
  `CREATE TABLE search_answers (
    actor TEXT NOT NULL, context TEXT NOT NULL, question_key TEXT NOT NULL, question TEXT NOT NULL,
    answer TEXT NOT NULL, expires_ms INTEGER NOT NULL, PRIMARY KEY (actor, context, question_key))`,
  "CREATE INDEX search_answers_expiry ON search_answers (actor, expires_ms)",
  // One byte a number, and the number of the first chunk, so that reading them needs no other table. Rows of
  // search_item_vectors are taken over when their instance starts.
  `CREATE TABLE search_vector_blocks (
    actor TEXT NOT NULL, model TEXT NOT NULL, item_id TEXT NOT NULL, first_chunk INTEGER NOT NULL,
    dimensions INTEGER NOT NULL, scales BLOB NOT NULL, data BLOB NOT NULL,
    PRIMARY KEY (actor, model, item_id, first_chunk))`,
  "CREATE INDEX search_vector_blocks_item ON search_vector_blocks (actor, item_id)",
  // Items that a source gave: which one, its version of the item, and the sync job that saw it last.
  "ALTER TABLE search_items ADD COLUMN source TEXT",
  "ALTER TABLE search_items ADD COLUMN source_version TEXT",
  "ALTER TABLE search_items ADD COLUMN seen_job TEXT",
  "ALTER TABLE search_jobs ADD COLUMN source TEXT",
  // How the bytes are stored, see `items/kept-content.ts`; null = as they are.
  "ALTER TABLE search_content ADD COLUMN form TEXT",
  // `vectors/vector-rows.ts` finds an item's by the primary key.
  "DROP INDEX search_vector_blocks_item",
  // Pages of a PDF, slides of a presentation; null for other files, and for what a former version indexed.
  "ALTER TABLE search_chunks ADD COLUMN first_page INTEGER",
  "ALTER TABLE search_chunks ADD COLUMN last_page INTEGER",
  // The `traceparent` of the request behind it.
  "ALTER TABLE search_work ADD COLUMN trace TEXT",
  // The parts of an item's file that could not be read, a list in JSON; null = all of it was read.
  "ALTER TABLE search_items ADD COLUMN warnings TEXT",
  // Changes with the chunks, where the full-text table is in another database: see `keyword/keyword-copy.ts`.
  "CREATE TABLE search_keyword_positions (actor TEXT PRIMARY KEY, position TEXT NOT NULL)",
  // The questions, and how well they were answered: see `rows/question-log.ts`.
  `CREATE TABLE search_questions (
    actor TEXT NOT NULL, question_key TEXT NOT NULL, question TEXT NOT NULL, asked INTEGER NOT NULL, none INTEGER NOT NULL,
    low INTEGER NOT NULL, clicks INTEGER NOT NULL, best DOUBLE PRECISION, last_ms BIGINT NOT NULL,
    PRIMARY KEY (actor, question_key))`,
];

/** Every table that holds rows of an instance, for its deletion. */
export const instanceTableNames: readonly string[] = [
  "search_instances",
  "search_items",
  "search_content",
  "search_chunks",
  "search_meta",
  "search_item_vectors",
  "search_vector_blocks",
  "search_models",
  "search_logs",
  "search_jobs",
  "search_job_logs",
  "search_work",
  "search_answers",
  "search_keyword_positions",
  "search_questions",
];

/** The tables of an account's directory of instances and namespaces, see `directory-actor.ts`. */
export const directoryTables: readonly string[] = [
  `CREATE TABLE search_directory (
    actor TEXT NOT NULL, namespace TEXT NOT NULL, id TEXT NOT NULL, settings TEXT NOT NULL,
    created_ms INTEGER NOT NULL, PRIMARY KEY (actor, namespace, id))`,
  `CREATE TABLE search_namespaces (
    actor TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL, created_ms INTEGER NOT NULL,
    PRIMARY KEY (actor, name))`,
  `CREATE TABLE search_tokens (
    actor TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, key_id TEXT NOT NULL, sealed TEXT NOT NULL,
    legacy INTEGER NOT NULL, created_ms INTEGER NOT NULL, modified_ms INTEGER NOT NULL, PRIMARY KEY (actor, id))`,
  // The key that seals secrets where the operator has set no master secret.
  "CREATE TABLE search_keys (actor TEXT PRIMARY KEY, master TEXT NOT NULL)",
];
