import { useState } from "preact/hooks";
import type { EndpointView } from "../core/webhooks/outbound/endpoints.ts";
import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import type { OutboundProps } from "./endpoints.tsx";
import { Choice, type FieldSpec, RecordForm } from "./form.tsx";
import { count, duration } from "./format.ts";
import { type LogColumn, LogTable } from "./log-table.tsx";
import { Action, change, FactList, instant, pretty, useLoaded, Waiting } from "./parts.tsx";

type Delivery = Answers["WebhookDelivery"];
type DeliveryDetail = Answers["WebhookDeliveryDetail"];

const statuses = {
  "": "all",
  pending: "pending",
  delivered: "delivered",
  dead: "dead",
  replayed: "replayed",
  canceled: "canceled",
};

const columns: readonly LogColumn[] = [
  { label: "Attempts", isNumber: true },
  { label: "Last answer", isNumber: true },
];

/** The last deliveries; one opens with its payload, attempts and answers. */
export function Deliveries({ root, readOnly, changed }: OutboundProps) {
  const [status, setStatus] = useState("");
  const endpoints = useLoaded(
    () => askResult<readonly EndpointView[]>(`${root}/endpoints`),
    [root, changed],
  );
  const deliveries = useLoaded(
    () =>
      askResult<readonly Delivery[]>(
        `${root}/deliveries?limit=50${status === "" ? "" : `&status=${status}`}`,
      ),
    [root, changed, status],
  );
  const rows = deliveries.value ?? [];
  const addressOf = (id: string): string =>
    endpoints.value?.find((one) => one.id === id)?.url ?? id;
  return (
    <section class="stack" aria-labelledby="deliveries-title">
      <h2 id="deliveries-title">Deliveries</h2>
      <div class="narrow">
        <Choice label="Status" value={status} options={statuses} onChoose={setStatus} />
      </div>
      <Waiting of={deliveries} />
      {deliveries.value !== null && rows.length === 0 && (
        <p class="muted">No delivery. “Send test event” of an endpoint makes one.</p>
      )}
      {rows.length > 0 && (
        <LogTable
          label="Deliveries"
          title="Endpoint"
          columns={columns}
          entries={rows.map((one) => ({
            key: one.id,
            time: instant(one.created_at),
            status: <span class={`status ${toneOf(one.status)}`}>{one.status}</span>,
            title: addressOf(one.endpoint_id),
            reason: one.last_error,
            cells: [one.attempts, one.last_status ?? "–"],
            detail: () => <Detail id={one.id} root={root} readOnly={readOnly} changed={changed} />,
          }))}
        />
      )}
      <Recover root={root} readOnly={readOnly} onDone={deliveries.reload} />
    </section>
  );
}

function toneOf(status: Delivery["status"]): string {
  return { delivered: "good", dead: "bad" }[status as string] ?? "warn";
}

function Detail({ id, root, readOnly, changed }: OutboundProps & { readonly id: string }) {
  const path = `${root}/deliveries/${encodeURIComponent(id)}`;
  const delivery = useLoaded(() => askResult<DeliveryDetail>(path), [path, changed]);
  const { value } = delivery;
  return (
    <div class="detail-body">
      <Waiting of={delivery} />
      {value !== null && (
        <>
          <FactList
            facts={[
              ["Delivery", <span class="mono">{value.id}</span>],
              ["Message", <span class="mono">{value.message_id}</span>],
              ["Type", value.type],
              ["Entity", value.entity],
              ["Ended", value.finished_at === null ? null : instant(value.finished_at)],
            ]}
          />
          <Body title="Payload" text={value.payload} />
          {value.log.map((one) => (
            <Attempt key={one.attempt} {...one} />
          ))}
          {value.log.length === 0 && <p class="muted">No attempt has ended yet.</p>}
          <div class="actions">
            <Action
              label="Deliver again"
              disabled={readOnly}
              onRun={() => change("POST", `${path}/replay`)}
            />
          </div>
        </>
      )}
    </div>
  );
}

function Attempt({
  attempt,
  at,
  duration_ms: ms,
  status,
  error,
  headers,
  body,
}: DeliveryDetail["log"][number]) {
  return (
    <section class="stack" aria-label={`Attempt ${attempt}`}>
      <h3>
        Attempt {attempt}: {status ?? "no answer"}
      </h3>
      <p class="small">
        {instant(at)}, {duration(ms)}
        {error !== null && <span class="reason">{error}</span>}
      </p>
      {headers !== null && (
        <details>
          <summary>Headers of the answer</summary>
          <Body title="Headers" text={JSON.stringify(headers)} />
        </details>
      )}
      {body !== null && body !== "" && <Body title="Answer" text={body} />}
    </section>
  );
}

function Body({ title, text }: { readonly title: string; readonly text: string }) {
  return (
    <div>
      <h3>{title}</h3>
      <pre tabIndex={0} aria-label={title}>
        {pretty(text)}
      </pre>
    </div>
  );
}

const recoverFields = {
  status: {
    label: "Deliveries that are",
    options: { dead: "dead", delivered: "delivered" },
  },
  since: { label: "Made since", input: { type: "datetime-local", required: false } },
  type: { label: "Of the type", input: { required: false }, hint: "Empty: every type" },
} satisfies Record<string, FieldSpec>;

interface RecoverProps extends Omit<OutboundProps, "changed"> {
  readonly onDone: () => void;
}

/** Sends again what an endpoint missed. */
function Recover({ root, readOnly, onDone }: RecoverProps) {
  const [note, setNote] = useState("");
  return (
    <div class="card stack" role="group" aria-labelledby="recover-title">
      <h3 id="recover-title">Recover what was missed</h3>
      <RecordForm
        action="Deliver all again"
        isKept
        fields={recoverFields}
        disabled={readOnly}
        onSave={async ({ status, since, type }, signal) => {
          let all = 0;
          let isWhole = false;
          const body = {
            status,
            ...(since === "" ? {} : { since: new Date(since).toISOString() }),
            ...(type === "" ? {} : { type }),
          };
          // A thousand at a time. Those that were dead are not any more; others would be found for ever.
          for (;;) {
            const path = `${root}/deliveries/replay`;
            const done = await change<{ replayed: number; more: boolean }>("POST", path, body);
            all += done.replayed;
            isWhole = !done.more;
            setNote(`Sent again: ${count(all)}`);
            if (isWhole || status !== "dead" || signal.aborted) break;
          }
          if (!isWhole) setNote(`Sent again: ${count(all)}, the oldest ones`);
          onDone();
        }}
      />
      <p class="small" role="status">
        {note}
      </p>
    </div>
  );
}
