import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { Actor, ActorContext, ActorKind, Actors } from "../../ports.ts";
import type { CrawlDeps } from "./crawl-deps.ts";
import { inserts } from "./rows/crawl-pages.ts";
import {
  type CrawlRead,
  readContentPart,
  readCrawl,
  type CrawlPageQuery,
} from "./rows/crawl-records.ts";
import type { CrawlBody, CrawlFormat } from "./rows/crawl-schema.ts";
import { type CrawlState, endCrawl, openCrawl, writeFacts } from "./rows/crawl-state.ts";
import { crawlTables } from "./rows/crawl-tables.ts";
import { pageIdentity } from "./rules/page-identity.ts";
import type { Robots } from "./rules/robots.ts";
import { crawlRunner } from "./run-crawl.ts";
import { type CrawlSecrets, sealInput } from "./rows/sealed-input.ts";

export interface CrawlMethods {
  /** Begins it. `body` is JSON. */
  create(
    body: string,
    origin: string,
    robots: Robots | null,
    asked: { readonly owner: string; readonly trace: string | null },
  ): Promise<void>;
  /** Reads some pages; null for an unknown crawl. */
  read(query: CrawlPageQuery): Promise<CrawlRead | null>;
  contentPart(seq: number, format: CrawlFormat, part: number): Promise<Uint8Array | null>;
  /** Cancels the crawl. Returns its status afterwards; null for an unknown one. */
  cancel(): Promise<string | null>;
  /** Deletes the crawl soon. */
  expire(): Promise<void>;
}

/** The name of the kind of actor that is one crawl; each is named `account/id`. */
const CRAWL_KIND = "rendering-crawl";

/** The mailbox belongs to the alarm, which lasts as long as there are pages to read. */
const interleaved = ["create", "read", "contentPart", "cancel", "expire"];

/** Makes the kind of actor that is one crawl, with what it reads pages with. */
export function crawlKind(deps: CrawlDeps): ActorKind {
  return {
    name: CRAWL_KIND,
    schema: crawlTables,
    interleaved,
    start: (context) => start(context, deps),
  };
}

/** Returns a crawl of an account, whether it exists or not. */
export function crawlAt(
  actors: Pick<Actors, "get">,
  account: string,
  id: string,
): ActorClient<CrawlMethods> {
  return actorClient(actors.get(CRAWL_KIND, `${account}/${id}`));
}

async function start(context: ActorContext, deps: CrawlDeps): Promise<Actor> {
  const state = await openCrawl(context, deps.secrets);
  const run = crawlRunner(state, deps);
  const methods: CrawlMethods = {
    create: (body, origin, robots, asked) =>
      state.inTurn(() => create(state, deps.secrets, { body, origin, robots, ...asked })),
    read: (query) => readCrawl(state, query),
    contentPart: (seq, format, part) => readContentPart(state, seq, format, part),
    cancel: () =>
      state.inTurn(async () => {
        await endCrawl(state, "cancelled_by_user");
        return state.facts?.status ?? null;
      }),
    expire: () =>
      state.inTurn(async () => {
        await endCrawl(state, "cancelled_by_user");
        const due = context.steady();
        if (state.facts !== null)
          await writeFacts(state, { ...state.facts, isReported: true, due }, [], due);
        state.ring();
      }),
  };
  return { methods: { ...methods }, onAlarm: () => state.clock.onAlarm(run) };
}

async function create(
  state: CrawlState,
  secrets: CrawlSecrets,
  {
    body,
    origin,
    robots,
    owner,
    trace,
  }: {
    readonly body: string;
    readonly origin: string;
    readonly robots: Robots | null;
    readonly owner: string;
    readonly trace: string | null;
  },
): Promise<void> {
  const { context } = state;
  const { name, system } = context;
  const input = JSON.parse(body) as CrawlBody;
  const url = new URL(input.url);
  const now = context.steady();
  const { stored, statements } = await sealInput(context, secrets, input, owner);
  const facts = {
    input,
    stored,
    isOpen: true,
    owner,
    status: "running",
    homes: [url.host],
    nextSeq: 1,
    total: 1,
    finished: 0,
    completed: 0,
    skipped: 0,
    freed: 0,
    bytes: 0,
    browserMs: 0,
    created: system.now(),
    ended: null,
    isReported: false,
    trace,
    due: 0,
  } as const;
  const rules = {
    sql: "INSERT INTO rendering_crawl_sites (actor, origin, robots) VALUES (?, ?, ?)",
    params: [name, origin, JSON.stringify(robots)],
  };
  const key = pageIdentity(input.options ?? {}).keyOf(url);
  const first = inserts([[name, 0, url.href, url.host, 0, "queued", key, null]]);
  await writeFacts(
    state,
    facts,
    [...statements, ...first, ...(robots === null ? [] : [rules])],
    now,
  );
  state.hosts.set(url.host, { waiting: 1, next: now, failures: 0 });
  state.ring();
}
