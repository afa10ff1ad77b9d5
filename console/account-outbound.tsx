import { useState } from "preact/hooks";
import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import { Choice } from "./form.tsx";
import { Outbound } from "./outbound.tsx";
import { changesOf, useLoaded, type ViewProps } from "./parts.tsx";

type Application = Answers["WebhookApplication"];

/** Webhooks that go out, of the account or of one of its customers. */
export function AccountOutbound({ root: account, facts: { readOnly }, live }: ViewProps) {
  const changed = changesOf(live, "webhooks");
  const [chosen, setChosen] = useState("");
  const applications = useLoaded(
    () => askResult<readonly Application[]>(`${account}/applications?limit=100`),
    [changed],
  );
  const names = (applications.value ?? []).map(({ id, name }) => [id, name ?? id] as const);
  const root = chosen === "" ? account : `${account}/applications/${encodeURIComponent(chosen)}`;
  return (
    <>
      {names.length > 0 && (
        <div class="narrow">
          <Choice
            label="Of"
            value={chosen}
            options={{ "": "this account", ...Object.fromEntries(names) }}
            onChoose={setChosen}
          />
        </div>
      )}
      <Outbound root={root} readOnly={readOnly} changed={changed} />
    </>
  );
}
