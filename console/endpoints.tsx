import { useState } from "preact/hooks";
import type { EndpointView } from "../core/webhooks/outbound/endpoints.ts";
import { askResult } from "./api.ts";
import { type FieldSpec, jsonOr, listOf, numberOr } from "./form.tsx";
import { Action, change, Once, useLoaded } from "./parts.tsx";
import { Records } from "./records.tsx";

/** The properties of a part of the outbound side. */
export interface OutboundProps {
  /** The path in the API: of the account, or of one of its applications. */
  readonly root: string;
  readonly readOnly: boolean;
  /** Changes whenever something of the webhooks was changed. */
  readonly changed: string;
}

const fields = {
  url: {
    label: "Address of the endpoint",
    input: { type: "url", placeholder: "https://app.example.com/hooks" },
  },
  types: { label: "Types", hint: "With commas, such as order.*. Empty: all", isMore: true },
  description: { label: "Description", isMore: true },
  filter: {
    label: "Filter of the payload as JSON",
    kind: "code",
    isMore: true,
    hint: 'Such as {"total": {"$gte": 100}}. Empty: every payload is sent.',
  },
  headers: {
    label: "Headers as JSON",
    kind: "code",
    isMore: true,
    hint: 'Such as {"authorization": "Bearer …"}. They are sealed; empty: they stay as they are.',
  },
  delays: {
    label: "Seconds between attempts",
    isMore: true,
    hint: "With commas: 10, 60, 600. Empty: the standard schedule",
  },
  timeout: { label: "Seconds of an attempt", kind: "number", isMore: true, hint: "Empty: 15" },
  rate: { label: "Requests per second", kind: "number", isMore: true, hint: "Empty: no limit" },
  ordered: { label: "Keep the order of each entity", kind: "check", isMore: true },
} satisfies Record<string, FieldSpec>;

/** The endpoints: made, changed, tested, switched off and deleted. */
export function Endpoints({ root: above, readOnly, changed }: OutboundProps) {
  const root = `${above}/endpoints`;
  const endpoints = useLoaded(() => askResult<readonly EndpointView[]>(root), [root, changed]);
  const [shown, setShown] = useState<string | null>(null);
  const save = async (values: Values, row: EndpointView | null): Promise<void> => {
    if (row !== null) await change("PATCH", `${root}/${row.id}`, bodyOf(values));
    else {
      const { secret } = await change<{ secret?: string }>("POST", root, bodyOf(values));
      setShown(secret ?? null);
    }
  };
  return (
    <>
      {shown !== null && <Once title="Secret of the endpoint" text={shown} />}
      <Records
        id="endpoints-title"
        title="Endpoints"
        noun="endpoint"
        none="No endpoint yet: your webhooks go nowhere. Add the address of a server, then send it a test event."
        of={endpoints}
        head={["Address", "Gets", "State"]}
        keyOf={({ id }) => id}
        nameOf={({ url }) => url}
        cellsOf={(one) => [
          <>
            <span class="wrap">{one.url}</span>
            {one.description !== null && <span class="reason">{one.description}</span>}
          </>,
          getsOf(one),
          stateOf(one),
        ]}
        fieldsOf={() => fields}
        valuesOf={valuesOf}
        onSave={save}
        onDelete={({ id }) => change("DELETE", `${root}/${id}`)}
        loss="Its deliveries end."
        actionsOf={(one) => (
          <EndpointActions
            one={one}
            above={above}
            readOnly={readOnly}
            onChange={endpoints.reload}
            onSecret={setShown}
          />
        )}
        disabled={readOnly}
      />
    </>
  );
}

interface EndpointActionsProps {
  readonly one: EndpointView;
  /** The path above the endpoints in the API. */
  readonly above: string;
  readonly readOnly: boolean;
  readonly onChange: () => void;
  readonly onSecret: (secret: string | null) => void;
}

function EndpointActions({ one, above, readOnly, onChange, onSecret }: EndpointActionsProps) {
  const path = `${above}/endpoints/${one.id}`;
  return (
    <>
      <Action
        label="Send test event"
        disabled={readOnly || !one.enabled}
        onRun={async () => {
          await change("POST", `${path}/test`);
          onChange();
        }}
      />
      <Action
        key={String(one.enabled)}
        label={one.enabled ? "Turn off" : "Turn on"}
        disabled={readOnly}
        onRun={async () => {
          await change("PATCH", path, { enabled: !one.enabled });
          onChange();
        }}
      />
      <Action
        label="Rotate secret"
        confirm="For a day, the former secret signs too."
        disabled={readOnly}
        onRun={async () => {
          const { secret } = await change<{ secret?: string }>("POST", `${path}/rotate`);
          onSecret(secret ?? null);
        }}
      />
    </>
  );
}

type Values = Readonly<Record<keyof typeof fields, string>>;

function valuesOf(one: EndpointView): Partial<Values> {
  const { filter, rate_per_second: rate, retry_delays_seconds: delays } = one;
  return {
    url: one.url,
    types: one.types.join(", "),
    description: one.description ?? "",
    filter: filter === null ? "" : JSON.stringify(filter, null, 2),
    delays: delays?.join(", ") ?? "",
    timeout: String(one.timeout_seconds),
    rate: rate === null ? "" : String(rate),
    ordered: one.ordered ? "on" : "",
  };
}

function bodyOf(values: Values): object {
  const headers = jsonOr(fields.headers.label, values.headers, undefined);
  const delays = listOf(values.delays).map(Number);
  const timeout = numberOr(values.timeout, undefined);
  return {
    url: values.url,
    types: listOf(values.types),
    ...(values.description === "" ? {} : { description: values.description }),
    filter: jsonOr(fields.filter.label, values.filter, null),
    ...(headers === undefined ? {} : { headers }),
    retry_delays_seconds: delays.length === 0 ? null : delays,
    ...(timeout === undefined ? {} : { timeout_seconds: timeout }),
    rate_per_second: numberOr(values.rate, null),
    ordered: values.ordered === "on",
  };
}

function getsOf({ types, filter, header_names: names }: EndpointView): string {
  return [
    types.length === 0 ? "all types" : types.join(", "),
    ...(filter === null ? [] : ["by a filter"]),
    ...(names.length === 0 ? [] : [`with ${names.join(", ")}`]),
  ].join("; ");
}

function stateOf({ enabled, disabled_reason: reason, tripped_until: until }: EndpointView) {
  if (!enabled) return <strong class="warn-text">off: {reason ?? "by hand"}</strong>;
  return until === null
    ? "on"
    : `fails: waits until ${new Date(until).toLocaleTimeString("en-GB")}`;
}
