import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { eventually } from "../cases/eventually.ts";
import type { Seen } from "../http/upstream.ts";

export const base = inject("baseUrl");
export const upstream = inject("upstreamUrl");
export const token = inject("token");
export const account = inject("accountId");

export const chat = JSON.stringify({
  model: "test-model",
  messages: [{ role: "user", content: "hi" }],
});

interface Sent {
  readonly mode?: string;
  readonly path?: string;
  readonly gateway?: string;
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly body?: string;
}

/** Sends a chat request through the gateway; the id finds what the upstream saw of it. */
export function send(sent: Sent = {}): { id: string; response: Promise<Response> } {
  const id = randomUUID();
  const { mode = "json", path = "openai/chat/completions", gateway = "open" } = sent;
  const response = fetch(`${base}/v1/${account}/${gateway}/${path}`, {
    method: "POST",
    body: sent.body ?? chat,
    headers: {
      "content-type": "application/json",
      "x-test-mode": mode,
      "x-test-id": id,
      ...sent.headers,
    },
    ...(sent.signal === undefined ? {} : { signal: sent.signal }),
  });
  return { id, response };
}

export async function seen(id: string): Promise<Seen[]> {
  return (await (await fetch(`${upstream}/__seen/${id}`)).json()) as Seen[];
}

/** Waits until the upstream's view of a request satisfies a condition. */
export async function untilSeen(id: string, holds: (seen: Seen[]) => boolean): Promise<void> {
  await eventually(async () => holds(await seen(id)), `what the upstream sees: ${String(holds)}`);
}

export async function logs(
  gateway: string,
  query: string,
  count: number,
): Promise<Record<string, unknown>[]> {
  const url = `${base}/client/v4/accounts/${account}/ai-gateway/gateways/${gateway}/logs?${query}`;
  let rows: Record<string, unknown>[] = [];
  await eventually(async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
    ({ result: rows } = (await response.json()) as { result: typeof rows });
    return rows.length >= count;
  }, `${count} log rows for ${query}`);
  return rows;
}

export const byEvent = (id: string): string =>
  `filters.key=event_id&filters.operator=eq&filters.value=${id}`;
