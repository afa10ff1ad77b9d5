import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult, serverUrl } from "./api.ts";
import { Field, Form, useRun } from "./form.tsx";
import {
  accountPath,
  Action,
  change,
  changesOf,
  FactList,
  instant,
  Once,
  type PageProps,
  Table,
  useLoaded,
  Waiting,
} from "./parts.tsx";

type Token = Answers["ApiToken"];
type Group = Answers["PermissionGroup"];

/** The state of every part, the capabilities of this runtime, and the API tokens. */
export function SettingsPage({ facts, live }: PageProps) {
  const parts = live.overview?.health ?? {};
  return (
    <div class="stack">
      <section aria-labelledby="health-title">
        <h2 id="health-title">Health</h2>
        <div class="parts">
          {Object.entries(parts).map(([part, { status, reason, detail }]) => (
            <div class="card part" key={part}>
              <span class={`state ${status}`}>{status}</span>
              <strong>{part}</strong>
              {reason !== undefined && <p>{reason}</p>}
              {detail !== undefined && <p>{detail}</p>}
            </div>
          ))}
        </div>
      </section>
      <section aria-labelledby="runtime-title">
        <h2 id="runtime-title">This server</h2>
        <FactList
          facts={[
            ["Version", facts.version],
            ["Runtime", facts.runtime],
            ["Account", facts.account],
            ["API", <code>{`${serverUrl}/client/v4`}</code>],
          ]}
        />
        <Table
          label="Capabilities"
          head={["Capability", "Here"]}
          none="–"
          rows={Object.entries(facts.capabilities).map(([name, value]) => ({
            key: name,
            cells: [name, value === true ? "yes" : `no: ${value}`],
          }))}
        />
        <p class="small">
          <a href={`${serverUrl}/docs`}>Description of the API</a>,{" "}
          <a href={`${serverUrl}/openapi.json`}>openapi.json</a>
        </p>
      </section>
      {!facts.isHosted && <Tokens facts={facts} live={live} />}
    </div>
  );
}

function Tokens({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/tokens`;
  const tokens = useLoaded(
    () => askResult<readonly Token[]>(`${root}?per_page=50`),
    [changesOf(live, "platform")],
  );
  const [shown, setShown] = useState<string | null>(null);
  return (
    <section class="stack" aria-labelledby="tokens-title">
      <h2 id="tokens-title">API tokens</h2>
      {shown !== null && <Once title="API token" text={shown} />}
      <Table
        of={tokens}
        label="API tokens"
        head={["Name", "May", "Status", "Issued", "Expires", "Change"]}
        none="No token was made here. Tokens of the configuration are not listed."
        rows={(tokens.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.name,
            one.policies
              .flatMap((policy) => policy.permission_groups.map((group) => group.name))
              .join(", "),
            one.status,
            instant(one.issued_on),
            instant(one.expires_on),
            <Action
              label="Delete"
              confirm="Callers with it are refused at once."
              disabled={facts.readOnly}
              onRun={async () => {
                await change("DELETE", `${root}/${one.id}`);
                tokens.reload();
              }}
            />,
          ],
        }))}
      />
      <div class="card">
        <NewToken
          root={root}
          facts={facts}
          onMade={(token) => {
            setShown(token);
            tokens.reload();
          }}
        />
      </div>
    </section>
  );
}

interface NewTokenProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly onMade: (token: string) => void;
}

function NewToken({ root, facts, onMade }: NewTokenProps) {
  const groups = useLoaded(() => askResult<readonly Group[]>(`${root}/permission_groups`), []);
  const [name, setName] = useState("");
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const state = useRun();
  const make = async (): Promise<void> => {
    if (chosen.length === 0) throw new Error("Choose at least one permission");
    const made = await change<{ value: string }>("POST", root, {
      name,
      policies: [
        {
          effect: "allow",
          permission_groups: chosen.map((id) => ({ id })),
          resources: { [`com.cloudflare.api.account.${facts.account}`]: "*" },
        },
      ],
    });
    onMade(made.value);
    setName("");
    setChosen([]);
  };
  const choose = (id: string, isChosen: boolean): void =>
    setChosen(isChosen ? [...chosen, id] : chosen.filter((one) => one !== id));
  return (
    <Form action="Create token" state={state} disabled={facts.readOnly} onRun={make}>
      <Field
        label="Name of the new token"
        value={name}
        input={{ maxLength: 120 }}
        onInput={setName}
      />
      <fieldset>
        <legend>May</legend>
        <Waiting of={groups} />
        {(groups.value ?? []).map(({ id, name: group }) => (
          <label key={id} class="choice">
            <input
              type="checkbox"
              checked={chosen.includes(id)}
              onChange={(event) => choose(id, event.currentTarget.checked)}
            />
            {group}
          </label>
        ))}
      </fieldset>
    </Form>
  );
}
