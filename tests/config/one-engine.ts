import { readdirSync } from "node:fs";

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
      "compounds",
      "filter",
      "keyword",
      "names",
      "languages",
      "operators",
      "refine",
      // Most of the statements, which each SQLite prepares.
      "instances",
      "items",
      "trained-rows",
      "vector-rows",
      // Compression, text decoders, segmenters, cancelled streams.
      "charsets",
      "code",
      "files",
      "office-files",
      "ocr",
      "ocr-queue",
      "open-documents",
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
    // http/rendering-edit.test.ts edits PDFs on all four.
    everywhere: [
      "binding",
      "cdp",
      "call-message",
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
      "served-tariff",
      "stream-usage",
      "unasked-usage",
    ],
  },
  {
    folder: "gateway/providers",
    reason: "requests and answers from one format of JSON to another",
    // WebCrypto, streams, decoders, regular expressions over bytes, origins of addresses.
    everywhere: [
      "access-tokens",
      "cloud-embeddings",
      "clouds",
      "key-origins",
      "requested-model",
      "spoken-formats",
      "stored-keys",
      "translate-streams",
      "unified-tasks",
      "web-images",
    ],
  },
  {
    folder: "gateway/call",
    reason: "attempts, pauses and what ends them, over a transport of the test",
    // Decoders and streams that break off.
    everywhere: ["body-text", "given-up", "provider-failed"],
  },
  {
    folder: "deprecations",
    reason: "paths, dates and fields of what has ended",
    // Requests and bodies of the runtime that are passed on.
    everywhere: [
      "compat-proxy",
      "middleware",
      "middleware-fields",
      "middleware-hosts",
      "passing",
      "passing-encoded",
      "rewrite-call",
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
    // Decoders, WebCrypto, held streams and what a database counts.
    everywhere: [
      "body-text",
      "inspection",
      "kept-ledger",
      "kept-rate-window",
      "own-tokens",
      "token-guard",
    ],
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
    // Decoders, WebCrypto, parameters of statements.
    everywhere: [
      "answers",
      "bodies",
      "entity-secrets",
      "event-ids",
      "exact-ids",
      "handshakes",
      "inbound",
      "index",
      "many-names",
      "payload",
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

/**
 * The files that run on Node and Bun alone, for `exclude`. They are listed: to Vitest the pattern `!(items).test.ts` is also
 * no name that only begins with "items".
 */
export const logicTests: string[] = logicFolders.flatMap(({ folder, everywhere }) => {
  const path = `tests/unit/${folder}`;
  const kept = new Set(everywhere.map((name) => `${name}.test.ts`));
  return readdirSync(new URL(`../../${path}`, import.meta.url), { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".test.ts") && !kept.has(name))
    .map((name) => `${path}/${name}`);
});

/** Test files that run on some runtimes only, or against the server on these. */
export interface FewRuntimes {
  readonly on: readonly ("node" | "deno" | "bun" | "workers")[];
  /** Why the other runtimes tell nothing new. */
  readonly reason: string;
  readonly files: readonly string[];
}

export const fewRuntimes: readonly FewRuntimes[] = [
  {
    on: ["node"],
    reason: "each starts servers of its own, on all runtimes or in its own process",
    files: [
      "tests/clients/own-server.test.ts",
      "tests/clients/use-agent.test.ts",
      "tests/local/command/serve-workers.test.ts",
    ],
  },
  {
    on: ["node"],
    reason:
      "pages of the console, the same wherever the server runs: http/console.test.ts opens it on all four",
    files: [
      "tests/clients/console-prefix.test.ts",
      "tests/clients/console-snippets.test.ts",
      "tests/http/console-log.test.ts",
      "tests/http/console-pages.test.ts",
      "tests/http/console-providers.test.ts",
      "tests/http/console-tasks.test.ts",
    ],
  },
  {
    on: ["node"],
    reason:
      "what pages in Chromium show: http/rendering.test.ts and seven more meet each runtime's way to the browser",
    files: [
      "tests/http/rendering-actions.test.ts",
      "tests/http/rendering-fonts.test.ts",
      "tests/http/rendering-kept.test.ts",
      "tests/http/rendering-shares.test.ts",
      "tests/http/rendering-shown.test.ts",
    ],
  },
  {
    on: ["node"],
    reason:
      "words, files and requests of commands: local/command/every-command.test.ts runs each on Node, Deno and Bun",
    files: [
      "tests/http/command.test.ts",
      "tests/http/readme.test.ts",
      "tests/http/search-sync.test.ts",
      "tests/local/command/config.test.ts",
      "tests/local/command/doctor.test.ts",
      "tests/local/command/print.test.ts",
      "tests/local/command/transfer.test.ts",
      "tests/local/token-command.test.ts",
    ],
  },
  {
    on: ["node", "workers"],
    reason:
      "what core makes of requests, with state in a process and in Durable Objects: conformance, gateway and search files meet all four",
    files: [
      "tests/http/documented-answers.test.ts",
      "tests/http/gateway-metrics.test.ts",
      "tests/http/gateway-semantic.test.ts",
      "tests/http/otlp.test.ts",
      "tests/http/rendering-files.test.ts",
    ],
  },
  {
    on: ["node"],
    reason:
      "servers that are killed in the middle of a job, on Node: local/every-runtime/crash.test.ts and durability.test.ts kill one on each",
    files: [
      "tests/local/crawl-crash.test.ts",
      "tests/local/search-crash.test.ts",
      "tests/local/search-site.test.ts",
      "tests/local/search-source.test.ts",
    ],
  },
  {
    on: ["node"],
    reason:
      "rows between two stores, and a script that Node runs: local/postgres/contract.test.ts meets the database on all three",
    files: ["tests/local/postgres/cluster-script.test.ts", "tests/local/postgres/move.test.ts"],
  },
];

/** What a runtime leaves out of {@link fewRuntimes}. */
export function leftToOthers(runtime: string): string[] {
  return fewRuntimes.flatMap(({ files, on }) => (on.some((one) => one === runtime) ? [] : files));
}

/** What a cluster on PostgreSQL (`TARGET=node-cluster`) leaves out of tests/http. */
export const leftToOneServer: readonly string[] = [
  // Identical requests meet within a server.
  "tests/http/gateway-coalescing.test.ts",
  // State is not on the disk that is full.
  "tests/http/full-disk.test.ts",
];
