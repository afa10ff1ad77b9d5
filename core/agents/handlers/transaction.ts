import type { AgentTransaction, OutboundWebhook } from "../define/agent.ts";
import { invalidRequest } from "../../http/api-error.ts";
import type { Plain, SqlRow, Statement, StatementResult } from "../../ports.ts";
import type { Clock } from "../../entity/clock.ts";
import type { AnyAgent } from "../define/definition.ts";
import { queueWebhook, type OutboxDeps } from "../queue/outbox.ts";
import type { StateHolder } from "../state/state.ts";

export interface TransactionDeps extends OutboxDeps {
  readonly clock: Clock;
  readonly definition: AnyAgent;
  readonly state: StateHolder;
}

/** Runs `collect`, then makes the writes that it collected in one transaction. Calls `changed` with a new state. */
export async function transact(
  deps: TransactionDeps,
  collect: (tx: AgentTransaction) => unknown,
  changed: (state: Plain) => unknown,
): Promise<SqlRow[][]> {
  const collected = collectAll(collect);
  const { clock, context, state } = deps;
  const sends: Statement[] = [];
  for (const message of collected.messages) sends.push(await queueWebhook(deps, message));
  const due = sends.length === 0 ? null : context.steady();
  let results: readonly StatementResult[] = [];
  const store = async (first: readonly Statement[]): Promise<void> => {
    const all = [...collected.sql, ...sends, ...first];
    if (all.length > 0) results = await clock.write(all, due);
  };
  if (collected.state === undefined) await store([]);
  else {
    const { next } = collected.state;
    await state.set(next, "server", undefined, (statement) => store([statement]));
    await changed(next);
  }
  return collected.sql.map((_, index) => [...(results[index]?.rows ?? [])]);
}

interface CollectedWrites {
  readonly sql: Statement[];
  readonly messages: OutboundWebhook[];
  state: { readonly next: Plain } | undefined;
}

function collectAll(collect: (tx: AgentTransaction) => unknown): CollectedWrites {
  const collected: CollectedWrites = { sql: [], messages: [], state: undefined };
  let isOver = false;
  const check = (): void => {
    if (isOver)
      throw invalidRequest("The transaction is over: ask for everything before its function ends");
  };
  const returned = collect({
    setState(next) {
      check();
      collected.state = { next };
    },
    sql(strings, ...values) {
      check();
      return collected.sql.push({ sql: strings.join("?"), params: values }) - 1;
    },
    webhooks: {
      send(message) {
        check();
        collected.messages.push(message);
      },
    },
  });
  isOver = true;
  if (returned instanceof Promise) {
    returned.catch(() => undefined);
    throw invalidRequest(
      "transaction() takes a function that is not async: what it awaited would be left out",
    );
  }
  return collected;
}
