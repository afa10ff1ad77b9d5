import { useState } from "preact/hooks";
import type { EndpointView } from "../core/webhooks/outbound/endpoints.ts";
import { askResult } from "./api.ts";
import { MakeForm } from "./form.tsx";
import {
  Action,
  change,
  changesOf,
  instant,
  Once,
  Table,
  useLoaded,
  type ViewProps,
  Waiting,
} from "./parts.tsx";

interface Delivery {
  readonly id: string;
  readonly type?: string;
  readonly endpoint_id: string;
  readonly status: string;
  readonly attempts: number;
  readonly last_status: number | null;
  readonly last_error: string | null;
  readonly created_at: string;
}

/** The endpoints that webhooks are sent to, and the last deliveries. */
export function Outbound({ root, facts: { readOnly }, live }: ViewProps) {
  const changed = changesOf(live, "webhooks");
  const endpoints = useLoaded(
    () => askResult<readonly EndpointView[]>(`${root}/endpoints`),
    [changed],
  );
  const [shown, setShown] = useState<string | null>(null);
  const make = async (url: string): Promise<void> => {
    const { secret } = await change<{ secret: string }>("POST", `${root}/endpoints`, { url });
    setShown(secret);
    endpoints.reload();
  };
  return (
    <>
      <h2>Endpoints</h2>
      <Waiting of={endpoints} />
      {shown !== null && <Once title="Secret of the endpoint" text={shown} />}
      <Endpoints
        root={root}
        endpoints={endpoints.value ?? []}
        readOnly={readOnly}
        onChange={endpoints.reload}
      />
      <div class="card">
        <MakeForm
          action="Add endpoint"
          label="Address of the new endpoint"
          input={{ type: "url", placeholder: "https://app.example.com/hooks" }}
          disabled={readOnly}
          onMake={make}
        />
      </div>
      <h2>Deliveries</h2>
      <Deliveries
        root={root}
        endpoints={endpoints.value ?? []}
        readOnly={readOnly}
        changed={changed}
      />
    </>
  );
}

interface TableProps {
  readonly root: string;
  readonly endpoints: readonly EndpointView[];
  readonly readOnly: boolean;
}

function Endpoints({
  root,
  endpoints,
  readOnly,
  onChange,
}: TableProps & { readonly onChange: () => void }) {
  return (
    <Table
      label="Endpoints"
      head={["Address", "Types", "State", "Change"]}
      none="No endpoint yet: webhooks that are sent go nowhere."
      rows={endpoints.map((one) => ({
        key: one.id,
        cells: [
          one.url,
          one.types.length === 0 ? "all" : one.types.join(", "),
          one.enabled ? "on" : `off: ${one.disabled_reason ?? "by hand"}`,
          <span class="actions">
            <Action
              label={one.enabled ? "Turn off" : "Turn on"}
              disabled={readOnly}
              onRun={async () => {
                await change("PATCH", `${root}/endpoints/${one.id}`, { enabled: !one.enabled });
                onChange();
              }}
            />
            <Action
              label="Delete"
              confirm="Its deliveries end."
              disabled={readOnly}
              onRun={async () => {
                await change("DELETE", `${root}/endpoints/${one.id}`);
                onChange();
              }}
            />
          </span>,
        ],
      }))}
    />
  );
}

function Deliveries({
  root,
  endpoints,
  readOnly,
  changed,
}: TableProps & { readonly changed: string }) {
  const [status, setStatus] = useState("");
  const deliveries = useLoaded(
    () =>
      askResult<readonly Delivery[]>(
        `${root}/deliveries?limit=50${status === "" ? "" : `&status=${status}`}`,
      ),
    [changed, status],
  );
  const addressOf = (id: string): string => endpoints.find((one) => one.id === id)?.url ?? id;
  return (
    <>
      <label class="narrow">
        Status
        <select value={status} onChange={(event) => setStatus(event.currentTarget.value)}>
          <option value="">all</option>
          {["pending", "delivered", "dead", "replayed", "canceled"].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      </label>
      <Waiting of={deliveries} />
      <Table
        label="Deliveries"
        head={["Created", "Endpoint", "Status", "Attempts", "Last answer", "Again"]}
        none="No delivery."
        rows={(deliveries.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            instant(one.created_at),
            addressOf(one.endpoint_id),
            one.status,
            one.attempts,
            <>
              {one.last_status ?? "–"}
              {one.last_error !== null && <span class="reason">{one.last_error}</span>}
            </>,
            <Action
              label="Deliver again"
              disabled={readOnly}
              onRun={() => change("POST", `${root}/deliveries/${one.id}/replay`)}
            />,
          ],
        }))}
      />
    </>
  );
}
