import { openPlatform } from "#platform";
import type { Hono } from "hono";
import { type SearchParts, searchParts, type SearchPartsOptions } from "../../core/search/mod.ts";
import type { ActorContext, ActorKind, Platform, Sql, System } from "../../core/ports.ts";

/** A chunk, as far as tests look at it. */
export interface FoundChunk {
  readonly id: string;
  readonly score: number;
  readonly text: string;
  readonly heading?: string;
  readonly page_number?: number;
  readonly last_page_number?: number;
  readonly instance_id?: string;
  readonly item: { readonly key: string };
  readonly scoring_details: {
    readonly vector_score?: number;
    readonly keyword_score?: number;
    readonly fusion_method?: string;
    readonly coverage?: number;
  };
}

/** The members that the results of the API have, each result some of them. */
export interface Shown {
  readonly id: string;
  readonly key: string;
  readonly name: string;
  readonly description: string;
  readonly message: string;
  readonly source: string;
  readonly source_id: string;
  readonly type: string | null;
  readonly sync_interval: number;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly status: string;
  readonly error: string;
  readonly warnings?: readonly unknown[];
  readonly checksum: string;
  readonly chunks_count: number;
  readonly completed: number;
  readonly ended_at?: string;
  readonly end_reason: string;
  readonly next_action: string | null;
  readonly progress: Readonly<Record<string, number>>;
  readonly embedding_model: string;
  readonly search_query: string;
  readonly chunks: readonly FoundChunk[];
  readonly errors: readonly unknown[];
  readonly engine: {
    readonly vectorize: { readonly vectorsCount: number; readonly dimensions: number };
  };
}

/** A choice of a chat completion, or of a chunk of its stream. */
export interface ShownChoice {
  readonly message: { readonly content: string };
  readonly delta: { readonly content: string };
}

/** A body of the API, as far as tests look at it. A result is an object or a list of them. */
export interface SearchAnswer {
  readonly success: boolean;
  readonly errors: readonly { readonly code: number; readonly message: string }[];
  readonly messages: readonly { readonly code: number; readonly message: string }[];
  readonly result: Shown & readonly Shown[];
  readonly result_info: Readonly<Record<string, unknown>>;
  readonly object: string;
  readonly choices: readonly ShownChoice[];
  readonly chunks: readonly FoundChunk[];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
  };
}

/** The search API over the platform of the running runtime, with one instance `main`. */
export interface SearchUnderTest {
  readonly platform: Platform;
  readonly app: Hono;
  readonly binding: SearchParts["binding"];
  /** Calls a path below `/accounts/acme/ai-search`; `body` is sent as JSON. */
  call(
    method: string,
    path: string,
    body?: unknown,
  ): Promise<{ status: number; body: SearchAnswer }>;
  raw(method: string, path: string, init?: RequestInit): Promise<Response>;
  /** Uploads text to the instance and waits until it is indexed. */
  upload(
    key: string,
    text: string | Uint8Array,
    options?: UploadOptions,
  ): Promise<{ status: number; body: SearchAnswer }>;
  /** Searches the instance `main`. */
  search(query: string, retrieval?: Record<string, unknown>): Promise<readonly FoundChunk[]>;
  close(): Promise<void>;
}

/** How {@link SearchUnderTest.upload} uploads. */
export interface UploadOptions {
  readonly metadata?: unknown;
  readonly type?: string;
  readonly instance?: string;
  /** @default true */
  readonly wait?: boolean;
}

/**
 * Opens the search API; `settings` are those of the instance `main`. What was opened with the same `data` before is
 * there again.
 */
export async function searchUnderTest(
  options: Omit<SearchPartsOptions, "platform"> = {},
  settings: Record<string, unknown> = {},
  data?: string,
  system: Partial<System> = {},
  network: Partial<Pick<Platform, "background" | "egress" | "transport">> = {},
  skew: ClockSkew = { ms: 0 },
): Promise<SearchUnderTest> {
  const real = withSkew(await openPlatform(data === undefined ? {} : { data }), skew);
  const platform = { ...real, ...network, system: { ...real.system, ...system } };
  const { binding, routes: app } = searchParts({
    platform,
    auth: "off",
    accountId: "acme",
    ...options,
  });
  const raw = async (method: string, path: string, init: RequestInit = {}): Promise<Response> =>
    app.fetch(
      new Request(`http://test/accounts/acme/ai-search${path}`, {
        method,
        ...(await asBytes(init)),
      }),
    );
  const call: SearchUnderTest["call"] = async (method, path, body) => {
    const init =
      body === undefined
        ? {}
        : { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
    const response = await raw(method, path, init);
    return { status: response.status, body: await answerOf(response) };
  };
  await call("POST", "/instances", { id: "main", ...settings });
  return {
    platform,
    app,
    binding,
    raw,
    call,
    async upload(
      key,
      text,
      { metadata, type = "text/markdown", instance = "main", wait = true } = {},
    ) {
      const form = new FormData();
      form.set(
        "file",
        new File([typeof text === "string" ? text : new Uint8Array(text)], key, { type }),
      );
      if (metadata !== undefined)
        form.set("metadata", typeof metadata === "string" ? metadata : JSON.stringify(metadata));
      if (wait) form.set("wait_for_completion", "true");
      const response = await raw("POST", `/instances/${instance}/items`, { body: form });
      return { status: response.status, body: await answerOf(response) };
    },
    async search(query, retrieval = {}) {
      const { status, body } = await call("POST", "/instances/main/search", {
        query,
        ai_search_options: { retrieval },
      });
      if (status !== 200) throw new Error(JSON.stringify(body.errors));
      return body.result.chunks;
    },
    close: () => platform.close(),
  };
}

/** How far the wall clock of actors is ahead; a test moves it on. */
export interface ClockSkew {
  readonly ms: number;
  /** Sees the statements of actors. @default nobody does */
  readonly watched?: (sql: Sql) => Sql;
}

function withSkew(platform: Platform, skew: ClockSkew): Platform {
  const { actors } = platform;
  const kinds = new Map<ActorKind, ActorKind>();
  const define: typeof actors.define = (kind) => {
    const moved: ActorKind = kinds.get(kind) ?? {
      ...kind,
      start: (context) => {
        const real = context.system;
        const now = { value: (): number => real.now() + skew.ms };
        // What a runtime gives has members that a spread would lose.
        const system = { value: Object.create(real, { now }) as System };
        const sql = { value: skew.watched?.(context.sql) ?? context.sql };
        return kind.start(Object.create(context, { system, sql }) as ActorContext);
      },
    };
    kinds.set(kind, moved);
    actors.define(moved);
  };
  const get: typeof actors.get = (kind, name) => actors.get(kind, name);
  return { ...platform, actors: { define, get } };
}

/** A form as the bytes that a client sends: as a live body, Node's own encoder trips over a reader that stops early. */
async function asBytes(init: RequestInit): Promise<RequestInit> {
  if (!(init.body instanceof FormData)) return init;
  const encoded = new Response(init.body);
  const headers = { "content-type": encoded.headers.get("content-type") ?? "" };
  return { ...init, headers, body: await encoded.arrayBuffer() };
}

/** The body of a response. */
export async function answerOf(response: Response): Promise<SearchAnswer> {
  return JSON.parse(await response.text()) as SearchAnswer;
}
