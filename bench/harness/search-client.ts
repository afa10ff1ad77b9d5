import { existsSync, statSync } from "node:fs";
import { TOKEN } from "./causey.ts";
import { percentile } from "./figure.ts";
import type { Running } from "./servers.ts";

/** Chunks of one document. */
export const SECTIONS = 50;
export const SEARCHERS = 8;
const UPLOADERS = 4;
const PROBE_MS = 20;

/** The legs of a search. */
export const legs = ["keyword", "vector", "hybrid"] as const;

type Leg = (typeof legs)[number];

/** A server with search instances, as benchmarks call it. */
export interface Client {
  readonly server: Running;
  readonly post: (path: string, body: object) => Promise<Response>;
  readonly upload: (
    instance: string,
    name: string,
    text: string,
    metadata: object,
  ) => Promise<void>;
  readonly search: (instance: string, query: string, retrieval: object) => Promise<Response>;
}

/** A client of a server. */
export function clientOf(server: Running): Client {
  const root = new URL("/client/v4/accounts/local/ai-search", server.url).href;
  const authorization = `Bearer ${TOKEN}`;
  const send = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(`${root}${path}`, { method: "POST", ...init });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const post = (path: string, body: object): Promise<Response> =>
    send(path, {
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
  return {
    server,
    post,
    async upload(instance, name, text, metadata) {
      const form = new FormData();
      form.set("file", new File([text], name, { type: "text/markdown" }));
      form.set("metadata", JSON.stringify(metadata));
      form.set("wait_for_completion", "true");
      const path = `/instances/${instance}/items`;
      await (await send(path, { headers: { authorization }, body: form })).arrayBuffer();
    },
    search: (instance, query, retrieval) =>
      post(`/instances/${instance}/search`, { query, ai_search_options: { retrieval } }),
  };
}

/** Creates an instance, with builtin vectors or with keywords alone. */
export async function create({ post }: Client, id: string, vector: boolean): Promise<void> {
  const custom_metadata = [{ field_name: "n", data_type: "number" }];
  const settings = { id, index_method: { keyword: true, vector }, custom_metadata };
  await (await post("/instances", settings)).arrayBuffer();
}

/** The option that asks one leg. */
export const typed = (leg: Leg): object => ({ retrieval_type: leg });

/** Uploads all documents, numbered from `from`; the rate of chunks, and the longest wait of one upload. */
export async function fill(
  { upload }: Client,
  instance: string,
  documents: readonly string[],
  from = 0,
): Promise<Record<string, number>> {
  const waits: number[] = [];
  const began = performance.now();
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < documents.length) {
      const n = next++;
      const at = performance.now();
      await upload(instance, `d${from + n}.md`, documents[n] ?? "", { n: from + n });
      waits.push(performance.now() - at);
    }
  };
  await Promise.all(Array.from({ length: UPLOADERS }, work));
  const seconds = (performance.now() - began) / 1000;
  return {
    "chunks/s": (documents.length * SECTIONS) / seconds,
    "p99 ms": percentile(
      waits.toSorted((a, b) => a - b),
      0.99,
    ),
    "longest ms": Math.max(...waits),
  };
}

/** Waits until the builtin vectors are those of the last training that is due. */
export async function trained({ server }: Client): Promise<void> {
  const url = new URL("/client/v4/accounts/local/ai-search/instances/docs/stats", server.url);
  const headers = { authorization: `Bearer ${TOKEN}` };
  let before = "";
  for (let same = 0; same < 10;) {
    const { result } = (await (await fetch(url, { headers })).json()) as {
      readonly result: { readonly engine: unknown };
    };
    const now = JSON.stringify(result.engine);
    same = now === before ? same + 1 : 0;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Asks one question after the other. */
export async function paced(
  ms: number,
  ask: (n: number) => Promise<Response>,
): Promise<Record<string, number>> {
  const took: number[] = [];
  for (let n = 0; n < 20; n++) await (await ask(n)).arrayBuffer();
  const end = performance.now() + ms;
  for (let n = 0; performance.now() < end; n++) {
    const at = performance.now();
    await (await ask(n)).arrayBuffer();
    took.push(performance.now() - at);
  }
  took.sort((a, b) => a - b);
  return { "p50 ms": percentile(took, 0.5), "p99 ms": percentile(took, 0.99) };
}

/** Several clients ask at once, while `/healthz` is looked at. */
export async function crowd(
  client: Client,
  ms: number,
  query: (n: number) => string,
): Promise<Record<string, number>> {
  const end = performance.now() + ms;
  let asked = 0;
  const searcher = async (): Promise<void> => {
    while (performance.now() < end) {
      await (await client.search("docs", query(asked++), typed("hybrid"))).arrayBuffer();
    }
  };
  const waits: number[] = [];
  const probe = async (): Promise<void> => {
    while (performance.now() < end) {
      const at = performance.now();
      await (await fetch(new URL("/healthz", client.server.url))).arrayBuffer();
      waits.push(performance.now() - at);
      await new Promise((resolve) => setTimeout(resolve, PROBE_MS));
    }
  };
  await Promise.all([probe(), ...Array.from({ length: SEARCHERS }, searcher)]);
  waits.sort((a, b) => a - b);
  return {
    "q/s": (asked * 1000) / ms,
    "/healthz p50 ms": percentile(waits, 0.5),
    "/healthz p99 ms": percentile(waits, 0.99),
  };
}

/** Bytes of a database with its log. */
export function sizeOf(file: string): number {
  return [file, `${file}-wal`]
    .filter((one) => existsSync(one))
    .reduce((sum, one) => sum + statSync(one).size, 0);
}
