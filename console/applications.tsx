import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import { type FieldSpec, numberOr } from "./form.tsx";
import { change, changesOf, instant, useLoaded, type ViewProps } from "./parts.tsx";
import { Records } from "./records.tsx";

type Application = Answers["WebhookApplication"];

/** The customers of an account, each with endpoints, secrets and deliveries of its own. */
export function Applications({ root: account, facts, live }: ViewProps) {
  const root = `${account}/applications`;
  const applications = useLoaded(
    () => askResult<readonly Application[]>(`${root}?limit=100`),
    [changesOf(live, "webhooks")],
  );
  return (
    <Records
      id="applications-title"
      title="Applications"
      noun="application"
      none="No application yet. An application is one of your customers, with its own endpoints and deliveries below “Outbound”."
      of={applications}
      head={["Application", "Name", "Endpoints at most", "Messages per second", "Created"]}
      keyOf={({ id }) => id}
      nameOf={({ id }) => id}
      cellsOf={(one) => [
        one.id,
        one.name ?? "–",
        one.max_endpoints,
        one.messages_per_second ?? "no limit",
        instant(one.created_at),
      ]}
      fieldsOf={fieldsOf}
      valuesOf={(one) => ({
        id: one.id,
        name: one.name ?? "",
        endpoints: String(one.max_endpoints),
        rate: String(one.messages_per_second ?? ""),
      })}
      initial={{ endpoints: "50" }}
      onSave={({ id, name, endpoints, rate }, row) =>
        change(row === null ? "POST" : "PATCH", row === null ? root : `${root}/${row.id}`, {
          ...(row === null ? { id } : {}),
          ...(name === "" ? {} : { name }),
          max_endpoints: Number(endpoints),
          messages_per_second: numberOr(rate, null),
        })
      }
      onDelete={({ id }) => change("DELETE", `${root}/${encodeURIComponent(id)}`)}
      loss="Its endpoints and deliveries go with it."
      disabled={facts.readOnly}
    />
  );
}

function fieldsOf(row: Application | null) {
  return {
    id: {
      label: "Id of the customer",
      input: { pattern: String.raw`[A-Za-z0-9_\-]{1,64}`, readOnly: row !== null },
    },
    name: { label: "Name", input: { required: false } },
    endpoints: { label: "Endpoints at most", kind: "number", input: { min: 1, max: 500, step: 1 } },
    rate: {
      label: "Messages per second",
      kind: "number",
      hint: "Empty: no limit",
      input: { required: false },
    },
  } satisfies Record<string, FieldSpec>;
}
