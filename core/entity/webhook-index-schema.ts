export const replaySchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_replays (
    actor TEXT NOT NULL, id TEXT NOT NULL, status TEXT NOT NULL, filter TEXT NOT NULL, owners TEXT,
    listed INTEGER NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, entities INTEGER NOT NULL,
    done INTEGER NOT NULL, failed INTEGER NOT NULL, queued INTEGER NOT NULL, created_at TEXT NOT NULL,
    finished_at TEXT, PRIMARY KEY (actor, id))`,
  "CREATE INDEX IF NOT EXISTS webhooks_replays_time ON webhooks_replays (actor, created_at, id)",
  `CREATE TABLE IF NOT EXISTS webhooks_replay_entities (
    actor TEXT NOT NULL, replay TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL,
    due BIGINT NOT NULL, tries INTEGER NOT NULL, queued INTEGER NOT NULL,
    PRIMARY KEY (actor, replay, agent, entity))`,
  `CREATE INDEX IF NOT EXISTS webhooks_replay_entities_due
    ON webhooks_replay_entities (actor, due, replay, agent, entity)`,
];

/** One row: the retention that the entities follow, and how far the sweep is; without `due` it is over. */
const sweepSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_sweep (
    actor TEXT PRIMARY KEY, retention TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, due BIGINT)`,
];

/** A row for each agent class: the source that has had it to itself, empty where several came together. */
const holderSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_holders (
    actor TEXT NOT NULL, agent TEXT NOT NULL, source TEXT NOT NULL, PRIMARY KEY (actor, agent))`,
];

/** Each list is read along one of its indexes, so a page costs the same at any position. */
export const indexSchema: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS webhooks_index_entities (
    actor TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, source TEXT, last_seen TEXT NOT NULL,
    PRIMARY KEY (actor, agent, entity))`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_time
    ON webhooks_index_entities (actor, last_seen, agent, entity)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_agent
    ON webhooks_index_entities (actor, agent, last_seen, entity)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_entities_source
    ON webhooks_index_entities (actor, source, last_seen, agent, entity)`,
  `CREATE TABLE IF NOT EXISTS webhooks_index_failures (
    actor TEXT NOT NULL, agent TEXT NOT NULL, entity TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL,
    task TEXT NOT NULL, seq INTEGER, event TEXT, source TEXT, attempts INTEGER NOT NULL, error TEXT NOT NULL,
    failed_at TEXT NOT NULL, next_at TEXT, PRIMARY KEY (actor, agent, entity, id))`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_time
    ON webhooks_index_failures (actor, state, failed_at, agent, entity, id)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_agent
    ON webhooks_index_failures (actor, state, agent, failed_at, entity, id)`,
  `CREATE INDEX IF NOT EXISTS webhooks_index_failures_source
    ON webhooks_index_failures (actor, state, source, failed_at, agent, entity, id)`,
  ...replaySchema,
  ...sweepSchema,
  ...holderSchema,
];
