import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import { Field, Form, useRun } from "./form.tsx";
import { Action, change, instant, type Loaded, Once, Table, Waiting } from "./parts.tsx";
import { limitText, type LimitView } from "./limit-text.ts";

interface OwnerView {
  readonly id: string;
  readonly name: string;
  readonly enabled: boolean;
  /** Whether only the configuration changes it. */
  readonly declared: boolean;
  readonly usage: readonly LimitView[];
}

/** A team as the API shows it. */
export interface TeamView extends OwnerView {
  readonly keys: number;
}

/** A virtual key as the API shows it. */
export interface KeyView extends OwnerView {
  readonly preview: string;
  readonly team: string | null;
  readonly gateways: readonly string[] | null;
  readonly models: readonly string[] | null;
  readonly last_used_at: string | null;
}

interface ListProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly teams: Loaded<readonly TeamView[]>;
  readonly keys: Loaded<readonly KeyView[]>;
  readonly onChange: () => void;
}

/** The teams: made, switched off and deleted. */
export function Teams({ root, facts, teams, onChange }: ListProps) {
  const [id, setId] = useState("");
  const [budget, setBudget] = useState("");
  const state = useRun();
  const make = async (): Promise<void> => {
    await change("POST", `${root}/teams`, { id, limits: monthly(budget) });
    setId("");
    setBudget("");
    onChange();
  };
  return (
    <section class="stack" aria-labelledby="teams-title">
      <h2 id="teams-title">Teams</h2>
      <Waiting of={teams} />
      <Table
        label="Teams"
        head={["Team", "Keys", "Budgets", "State", "Change"]}
        none="No team yet: one has budgets over all its virtual keys together."
        rows={(teams.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.name,
            one.keys,
            one.usage.map(limitText).join("; ") || "none",
            stateOf(one),
            <Changes
              of={one}
              path={`${root}/teams/${one.id}`}
              facts={facts}
              loss="Its counts go with it."
              onChange={onChange}
            />,
          ],
        }))}
      />
      <div class="card">
        <Form action="Create team" state={state} disabled={facts.readOnly} onRun={make}>
          <Field
            label="Id of the new team"
            value={id}
            input={{ pattern: String.raw`[a-z0-9][a-z0-9_\-]{0,63}` }}
            onInput={setId}
          />
          <Budget value={budget} onInput={setBudget} />
        </Form>
      </div>
    </section>
  );
}

/** The virtual keys: made, rotated, switched off and deleted. */
export function Keys({ root: account, facts, teams, keys, onChange }: ListProps) {
  const root = `${account}/virtual-keys`;
  const [shown, setShown] = useState<string | null>(null);
  const show = ({ key }: { readonly key: string }): void => {
    setShown(key);
    onChange();
  };
  return (
    <section class="stack" aria-labelledby="keys-title">
      <h2 id="keys-title">Virtual keys</h2>
      {shown !== null && <Once title="Virtual key" text={shown} />}
      <Waiting of={keys} />
      <Table
        label="Virtual keys"
        head={[
          "Name",
          "Key",
          "Team",
          "Gateways",
          "Models",
          "Limits",
          "Used last",
          "State",
          "Change",
        ]}
        none="No virtual key yet: one lets somebody use the providers' keys without having them."
        rows={(keys.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            one.name,
            <span class="mono">{one.preview}</span>,
            one.team ?? "–",
            one.gateways?.join(", ") ?? "all",
            one.models?.join(", ") ?? "all",
            one.usage.map(limitText).join("; ") || "none",
            instant(one.last_used_at),
            stateOf(one),
            <Changes
              of={one}
              path={`${root}/${one.id}`}
              facts={facts}
              loss="Callers with it are refused at once."
              onChange={onChange}
            >
              <Action
                label="Rotate"
                disabled={facts.readOnly}
                confirm="The former secret stops working."
                onRun={async () => show(await change("POST", `${root}/${one.id}/rotate`, {}))}
              />
            </Changes>,
          ],
        }))}
      />
      <NewKey root={root} facts={facts} teams={teams.value ?? []} onMade={show} />
    </section>
  );
}

interface NewKeyProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly teams: readonly TeamView[];
  readonly onMade: (made: { readonly key: string }) => void;
}

function NewKey({ root, facts, teams, onMade }: NewKeyProps) {
  const [form, setForm] = useState({ name: "", team: "", budget: "" });
  const state = useRun();
  const make = async (): Promise<void> => {
    const { name, team, budget } = form;
    onMade(
      await change("POST", root, {
        name,
        team: team === "" ? null : team,
        limits: monthly(budget),
      }),
    );
    setForm({ name: "", team: "", budget: "" });
  };
  return (
    <div class="card">
      <Form action="Create key" state={state} disabled={facts.readOnly} onRun={make}>
        <Field
          label="Name of the new key"
          value={form.name}
          input={{ maxLength: 120 }}
          onInput={(name) => setForm({ ...form, name })}
        />
        <label>
          Team
          <select
            value={form.team}
            onChange={(event) => setForm({ ...form, team: event.currentTarget.value })}
          >
            <option value="">none</option>
            {teams.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <Budget value={form.budget} onInput={(budget) => setForm({ ...form, budget })} />
      </Form>
    </div>
  );
}

interface BudgetProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

function Budget({ value, onInput }: BudgetProps) {
  return (
    <Field
      label="US dollars per month (empty = no limit)"
      value={value}
      input={{ type: "number", min: 0, max: 100_000, step: "any", required: false }}
      onInput={onInput}
    />
  );
}

function monthly(budget: string): readonly object[] {
  if (budget === "") return [];
  return [{ limitType: "cost", limit: Number(budget), window: "month" }];
}

function stateOf({ enabled, declared }: OwnerView) {
  const state = enabled ? "on" : <strong class="warn-text">off</strong>;
  return declared ? <>{state}, of the configuration</> : state;
}

interface ChangesProps {
  readonly of: OwnerView;
  readonly path: string;
  readonly facts: SessionFacts;
  /** What deleting it means. */
  readonly loss: string;
  readonly onChange: () => void;
  /** Further actions. */
  readonly children?: ComponentChildren;
}

function Changes({ of: { enabled, declared }, ...props }: ChangesProps) {
  const { path, facts, loss, onChange, children } = props;
  if (declared) return <span class="muted small">in the file</span>;
  const run = async (method: string, body?: object): Promise<void> => {
    await change(method, path, body);
    onChange();
  };
  return (
    <span class="actions">
      {children}
      <Action
        key={String(enabled)}
        label={enabled ? "Disable" : "Enable"}
        disabled={facts.readOnly}
        onRun={() => run("PATCH", { enabled: !enabled })}
      />
      <Action label="Delete" disabled={facts.readOnly} confirm={loss} onRun={() => run("DELETE")} />
    </span>
  );
}
