/**
 * The tables of every kind of agent. `agent` is the instance's key (class and name): many instances share one
 * database on Node, Deno and Bun. In the event table the event's own column `actor` is who caused the event.
 */
export const agentSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS agents_entities (
    agent TEXT PRIMARY KEY, canonical TEXT, last_seq INTEGER NOT NULL,
    max_events INTEGER, max_age_ms INTEGER, state TEXT)`,
  `CREATE TABLE IF NOT EXISTS agents_events (
    agent TEXT NOT NULL, seq INTEGER NOT NULL, provider TEXT NOT NULL,
    id TEXT NOT NULL, type TEXT NOT NULL, action TEXT, title TEXT NOT NULL, description TEXT,
    url TEXT, actor TEXT, payload TEXT, timestamp TEXT NOT NULL,
    headers TEXT NOT NULL, body_hash TEXT,
    PRIMARY KEY (agent, seq))`,
  "CREATE UNIQUE INDEX IF NOT EXISTS agents_events_id ON agents_events (agent, provider, id)",
  // One index over all entities: it grows at one end, so an event costs it a fortieth of a page. Indexed by entity,
  // each event would write a page of its own, and positions already give the order within an entity.
  "CREATE INDEX IF NOT EXISTS agents_events_time ON agents_events (timestamp DESC)",
  `CREATE INDEX IF NOT EXISTS agents_events_body ON agents_events (agent, provider, body_hash)
    WHERE body_hash IS NOT NULL`,
  `CREATE TABLE IF NOT EXISTS agents_jobs (
    agent TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, task TEXT NOT NULL,
    payload TEXT, event_seq INTEGER, attempt INTEGER NOT NULL, due BIGINT NOT NULL, error TEXT,
    retry TEXT, PRIMARY KEY (agent, id))`,
  "CREATE INDEX IF NOT EXISTS agents_jobs_due ON agents_jobs (agent, due)",
  `CREATE TABLE IF NOT EXISTS agents_dead (
    agent TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL, payload TEXT, event_seq INTEGER,
    attempts INTEGER NOT NULL, error TEXT NOT NULL, failed_at TEXT NOT NULL, PRIMARY KEY (agent, id))`,
  `CREATE TABLE IF NOT EXISTS agents_schedules (
    agent TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL, payload TEXT, due BIGINT NOT NULL,
    kind TEXT NOT NULL, rule TEXT NOT NULL, PRIMARY KEY (agent, id))`,
  // Tasks go by time, events by position: each job is in one of the two.
  "DROP INDEX IF EXISTS agents_jobs_due",
  `CREATE INDEX IF NOT EXISTS agents_jobs_tasks ON agents_jobs (agent, due, position)
    WHERE event_seq IS NULL`,
  `CREATE INDEX IF NOT EXISTS agents_jobs_events ON agents_jobs (agent, position)
    WHERE event_seq IS NOT NULL`,
  // The webhook source that an entity belongs to.
  "ALTER TABLE agents_entities ADD COLUMN owner TEXT",
  // By the steady clock: when a schedule ran last.
  "ALTER TABLE agents_schedules ADD COLUMN fired BIGINT",
  // Changes that the index of all entities has not heard of yet: of a job, or of the entity itself where `id` is empty.
  `CREATE TABLE IF NOT EXISTS agents_reports (
    agent TEXT NOT NULL, id TEXT NOT NULL, rev INTEGER NOT NULL, PRIMARY KEY (agent, id))`,
  // Entities that are older than the index report to it at their next start.
  `INSERT INTO agents_reports (agent, id, rev) SELECT agent, '', 1 FROM agents_entities
    UNION SELECT agent, id, 1 FROM agents_dead
    UNION SELECT agent, id, 1 FROM agents_jobs WHERE error IS NOT NULL`,
  "ALTER TABLE agents_jobs ADD COLUMN failed_at TEXT",
  // The replay that queued the job; null for every other job.
  "ALTER TABLE agents_jobs ADD COLUMN replay TEXT",
  "CREATE INDEX IF NOT EXISTS agents_dead_event ON agents_dead (agent, event_seq)",
  // The progress of replays over many entities in this instance.
  `CREATE TABLE IF NOT EXISTS agents_replays (
    agent TEXT NOT NULL, id TEXT NOT NULL, position INTEGER NOT NULL, queued INTEGER NOT NULL,
    done INTEGER NOT NULL, at TEXT NOT NULL, PRIMARY KEY (agent, id))`,
  // The `traceparent` of the run that queued the job or made the schedule.
  "ALTER TABLE agents_jobs ADD COLUMN trace TEXT",
  "ALTER TABLE agents_schedules ADD COLUMN trace TEXT",
  // Earlier versions stored any number as a time: those are past the last valid date.
  "UPDATE agents_jobs SET due = 253402300799999 WHERE due > 253402300799999",
  "UPDATE agents_schedules SET due = 253402300799999 WHERE due > 253402300799999",
  // The handler's answer to the sender, as JSON: duplicates get it again.
  "ALTER TABLE agents_events ADD COLUMN answer TEXT",
  // All schedules are due by the steady clock; this is the date or time of day, by the machine's, of those that have one.
  "ALTER TABLE agents_schedules ADD COLUMN wall BIGINT",
  "UPDATE agents_schedules SET wall = due WHERE kind = 'cron' OR (kind = 'once' AND rule <> 'delay')",
];

/** The tables that hold rows of an instance. */
export const agentTables = [
  "agents_entities",
  "agents_events",
  "agents_jobs",
  "agents_dead",
  "agents_schedules",
  "agents_reports",
  "agents_replays",
] as const;
