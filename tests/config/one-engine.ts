/** Unit tests of one folder that run once for each engine. */
export interface LogicFolder {
  /** Below tests/unit. */
  readonly folder: string;
  /** Why neither Deno nor workerd can tell anything new. */
  readonly reason: string;
  /** Files that run on all four runtimes, by name: each meets what a runtime brings itself. */
  readonly everywhere: readonly string[];
}

/**
 * Logic above the ports of `core/ports.ts`. It runs on Node (V8) and on Bun (JavaScriptCore); Deno and workerd have
 * Node's engine, and the contract, HTTP and client suites show their ports and the routes. All other unit tests run on
 * all four, and so does a new folder until it is named here: what uses WebCrypto, compression, text decoders, Intl,
 * WebSockets, streams of a runtime, or its SQLite's search and JSON.
 */
export const logicFolders: readonly LogicFolder[] = [
  {
    folder: "search",
    reason: "ranking, plans, items and sources over SQL, fetch and models of the test",
    everywhere: [
      // SQLite's full-text search and JSON.
      "broad-filter",
      "columns",
      "filter",
      "keyword",
      // Most of the statements, which each SQLite prepares.
      "instances",
      "items",
      "trained-rows",
      "vector-rows",
      // Compression, text decoders, segmenters, cancelled streams.
      "charsets",
      "code",
      "files",
      "hostile-files",
      "office-files",
      "kept-content",
      "lexical",
      "mails",
      "pages",
      "pdfs",
      "text-formats",
      "tokens",
      // Ends of a platform in the middle of work, and the bindings of one.
      "binding",
      "effects",
      "interrupted-job",
    ],
  },
  {
    folder: "rendering",
    reason: "options, Markdown and the life of pages over a browser of the test",
    // The wire, decoders, compression, print streams, sealed text.
    everywhere: [
      "binding",
      "cdp",
      "long-text",
      "pdf",
      "static",
      "upload",
      "crawl/map-site",
      "crawl/same-page",
      "crawl/sealed-input",
    ],
  },
  {
    folder: "gateway/observe",
    reason: "prices, spend, rows and metrics of bytes that the test feeds",
    // Compression, decoders, WebSockets, timers.
    everywhere: [
      "encodings",
      "gateway-logs",
      "log-filters",
      "log-queue",
      "log-tail",
      "observer",
      "socket-trace",
      "stream-usage",
      "unasked-usage",
    ],
  },
  {
    folder: "gateway/keys",
    reason: "limits and names of keys, counted by actors",
    // WebCrypto and WebSockets.
    everywhere: [
      "virtual-keys",
      "virtual-key-socket-reach",
      "teams",
      "declared-keys",
      "spend-report",
    ],
  },
  {
    folder: "gateway/guard",
    reason: "rules over texts and counters",
    // Decoders, WebCrypto and held streams.
    everywhere: ["body-text", "inspection", "own-tokens", "token-guard"],
  },
  { folder: "gateway/manage", reason: "rows and their rules", everywhere: ["management"] },
  { folder: "gateway/choose", reason: "choices between models", everywhere: ["auto-router"] },
  {
    folder: "gateway/answer/semantic",
    reason: "comparing questions by vectors of the test",
    everywhere: ["question", "semantic-cache"],
  },
  {
    folder: "agents/queue",
    reason: "order and repetition of calls between actors",
    everywhere: ["current-agent", "outbox"],
  },
  {
    folder: "agents/mailbox",
    reason: "deadlines and holds on a clock of the test",
    everywhere: ["holds", "own-tables"],
  },
  // "resume" meets streams.
  { folder: "agents/feed", reason: "rows of a feed and their age", everywhere: ["resume"] },
  {
    folder: "webhooks/inbound",
    reason: "what is kept and repeated, by actors",
    // Decoders, WebCrypto.
    everywhere: [
      "answers",
      "bodies",
      "entity-secrets",
      "event-ids",
      "exact-ids",
      "handshakes",
      "inbound",
      "index",
      "payload",
      "replays",
      "stored-sources",
    ],
  },
  {
    folder: "webhooks/outbound",
    reason: "turns and times of deliveries over a transport of the test",
    everywhere: [
      "agent-endpoints",
      "applications",
      "endpoint-secrets",
      "endpoint-settings",
      "outbound",
      "portal",
      "time",
    ],
  },
];

/** Patterns of the files that run on Node and Bun alone, for `exclude`. */
export const logicTests: string[] = logicFolders.map(
  ({ folder, everywhere }) =>
    `tests/unit/${folder}/**/!(${everywhere.map((name) => name.split("/").at(-1)).join("|")}).test.ts`,
);

/** Files that run on Node alone, or against the server on Node, and why other runtimes tell nothing new. */
export const onNodeAlone: readonly { readonly file: string; readonly reason: string }[] = [
  {
    file: "tests/clients/own-server.test.ts",
    reason: "starts servers of all runtimes itself, and none of the target",
  },
  {
    file: "tests/clients/use-agent.test.ts",
    reason: "starts its own server in the process of the test",
  },
  {
    file: "tests/local/command/config.test.ts",
    reason: "what is read from files and the environment; every-command.test.ts reads them too",
  },
  {
    file: "tests/local/command/print.test.ts",
    reason: "texts, and a log that is followed over HTTP",
  },
  {
    file: "tests/local/command/serve-workers.test.ts",
    reason: "workerd is started by Node",
  },
  {
    file: "tests/local/command/transfer.test.ts",
    reason: "requests to two servers, and a file of JSON",
  },
  {
    file: "tests/local/postgres/cluster-script.test.ts",
    reason:
      "a script of the repository, which Node runs; Deno reports the signal it sent as the end",
  },
];
