import { randomUUID } from "node:crypto";
import { inject } from "vitest";
import { eventually } from "../cases/eventually.ts";

/** The server under test, without a slash at the end. */
export const base: string = inject("baseUrl");
/** Its only account. */
export const account: string = inject("accountId");

/** Why a test in which a client leaves in an orderly way cannot be run, if so. */
export const clientsUnseen: string | undefined =
  inject("target") === "workers"
    ? "a bare workerd takes an orderly close (FIN) for a client that still reads"
    : undefined;

/** The address of a provider, as a client takes it for its base URL. */
export function providerUrl(provider: string, gateway = "open"): string {
  return `${base}/v1/${account}/${gateway}/${provider}`;
}

/** Headers that make the model server speak as its provider does, and name the request in the log. */
export function native(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { "x-test-mode": "native", "x-test-id": randomUUID(), ...more };
}

/** One row of the log. */
export type Row = Readonly<Record<string, unknown>>;

/** The rows of the requests with an event id, once there are `count` of them, oldest first. */
export async function rowsOf(
  event: string,
  count = 1,
  gateway = "open",
  server = base,
): Promise<Row[]> {
  const filter = `filters.key=event_id&filters.operator=eq&filters.value=${event}`;
  const order = "order_by=created_at&order_by_direction=asc";
  const url = `${server}/client/v4/accounts/${account}/ai-gateway/gateways/${gateway}/logs?${filter}&${order}`;
  let rows: Row[] = [];
  await eventually(async () => {
    const response = await fetch(url, { headers: { authorization: `Bearer ${inject("token")}` } });
    ({ result: rows } = (await response.json()) as { result: Row[] });
    return rows.length >= count;
  }, `${count} log rows of ${event}`);
  return rows;
}
