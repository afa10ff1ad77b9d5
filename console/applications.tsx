import { useState } from "preact/hooks";
import type { Answers } from "../scripts/openapi/answers.ts";
import type { PortalLinkView } from "../core/webhooks/portal/portal-routes.ts";
import { askResult } from "./api.ts";
import { type FieldSpec, numberOr } from "./form.tsx";
import { Action, change, changesOf, instant, Once, useLoaded, type ViewProps } from "./parts.tsx";
import { Records } from "./records.tsx";

type Application = Answers["WebhookApplication"];

/** The customers of an account, each with endpoints, secrets and deliveries of its own. */
export function Applications({ root: account, facts, live }: ViewProps) {
  const root = `${account}/applications`;
  const applications = useLoaded(
    () => askResult<readonly Application[]>(`${root}?limit=100`),
    [changesOf(live, "webhooks")],
  );
  const [link, setLink] = useState<string | null>(null);
  return (
    <>
      {link !== null && <Once title="Link for the customer, good for a day" text={link} />}
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
        actionsOf={({ id }) => (
          <PortalActions path={`${root}/${id}/portal`} disabled={facts.readOnly} onLink={setLink} />
        )}
        disabled={facts.readOnly}
      />
    </>
  );
}

interface PortalActionsProps {
  /** The path of the application's links in the API. */
  readonly path: string;
  readonly disabled: boolean;
  readonly onLink: (link: string | null) => void;
}

function PortalActions({ path, disabled, onLink }: PortalActionsProps) {
  return (
    <>
      <Action
        label="New portal link"
        disabled={disabled}
        onRun={async () => {
          const { url, token } = await change<PortalLinkView>("POST", path, {
            expires_seconds: 86_400,
          });
          onLink(url ?? token);
        }}
      />
      <Action
        label="End portal links"
        confirm="Every link of the customer ends."
        disabled={disabled}
        onRun={async () => {
          await change("DELETE", path);
          onLink(null);
        }}
      />
    </>
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
