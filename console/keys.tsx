import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { Answers } from "../scripts/openapi/answers.ts";
import { type FieldSpec, listOf } from "./form.tsx";
import { Action, change, instant, type Loaded, Once } from "./parts.tsx";
import { limitText } from "./limit-text.ts";
import { Records } from "./records.tsx";

/** A team as the API shows it. */
export type TeamView = Answers["Team"];
/** A virtual key as the API shows it. */
export type KeyView = Answers["StoredVirtualKey"];

interface ListProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly teams: Loaded<readonly TeamView[]>;
  readonly keys: Loaded<readonly KeyView[]>;
  readonly onChange: () => void;
}

const budgetField: FieldSpec = {
  label: "US dollars per month",
  kind: "number",
  hint: "Empty: no limit",
  input: { max: 100_000, required: false },
};
const idInput = { pattern: String.raw`[a-z0-9][a-z0-9_\-]{0,63}` };

/** The teams: made, changed, switched off and deleted. */
export function Teams({ root: account, facts, teams, onChange }: ListProps) {
  const root = `${account}/teams`;
  return (
    <Records
      id="teams-title"
      title="Teams"
      noun="team"
      none="No team yet. A team has budgets for all its virtual keys together."
      of={teams}
      head={["Team", "Keys", "Budgets", "State"]}
      keyOf={({ id }) => id}
      nameOf={({ name }) => name}
      cellsOf={(one) => [one.name, one.keys, budgetsOf(one), stateOf(one)]}
      fieldsOf={(row) => ({
        id: { label: "Id of the team", input: { ...idInput, readOnly: row !== null } },
        budget: budgetField,
      })}
      valuesOf={(one) => ({ id: one.id, budget: monthlyOf(one) })}
      onSave={async ({ id, budget }, row) => {
        if (row === null) await change("POST", root, { id, limits: withMonthly([], budget) });
        else
          await change("PATCH", `${root}/${row.id}`, { limits: withMonthly(row.limits, budget) });
        onChange();
      }}
      onDelete={({ id }) => change("DELETE", `${root}/${id}`)}
      loss="Its counts go with it."
      isDeclared={({ declared }) => declared}
      actionsOf={(one) => <Switch of={one} root={root} facts={facts} onChange={onChange} />}
      disabled={facts.readOnly}
    />
  );
}

/** The virtual keys: made, changed, rotated, switched off and deleted. */
export function Keys({ root: account, facts, teams, keys, onChange }: ListProps) {
  const root = `${account}/virtual-keys`;
  const [shown, setShown] = useState<string | null>(null);
  const show = ({ key }: { readonly key: string }): void => {
    setShown(key);
    onChange();
  };
  const names = Object.fromEntries((teams.value ?? []).map(({ id, name }) => [id, name]));
  const fields = keyFields({ "": "none", ...names });
  return (
    <>
      {shown !== null && <Once title="Virtual key" text={shown} />}
      <Records
        id="keys-title"
        title="Virtual keys"
        noun="key"
        none="No virtual key yet. With one, somebody uses the providers' keys without seeing them."
        of={keys}
        head={["Name", "Key", "Team", "Gateways", "Models", "Limits", "Used last", "State"]}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        cellsOf={(one) => [
          one.name,
          <span class="mono">{one.preview}</span>,
          one.team ?? "–",
          one.gateways?.join(", ") ?? "all",
          one.models?.join(", ") ?? "all",
          budgetsOf(one),
          instant(one.last_used_at),
          stateOf(one),
        ]}
        fieldsOf={() => fields}
        valuesOf={valuesOf}
        onSave={async (values, row) => {
          if (row === null) show(await change("POST", root, bodyOf(values, null)));
          else await change("PATCH", `${root}/${row.id}`, bodyOf(values, row));
          onChange();
        }}
        onDelete={({ id }) => change("DELETE", `${root}/${id}`)}
        loss="Callers with it are refused at once."
        isDeclared={({ declared }) => declared}
        actionsOf={(one) => (
          <>
            <Action
              label="Rotate"
              disabled={facts.readOnly}
              confirm="The former secret stops working."
              onRun={async () => show(await change("POST", `${root}/${one.id}/rotate`, {}))}
            />
            <Switch of={one} root={root} facts={facts} onChange={onChange} />
          </>
        )}
        disabled={facts.readOnly}
      />
    </>
  );
}

function keyFields(teams: Readonly<Record<string, string>>) {
  return {
    name: { label: "Name of the key", input: { maxLength: 120 } },
    team: { label: "Team", options: teams },
    budget: budgetField,
    models: {
      label: "Models",
      isMore: true,
      hint: "With commas, such as openai/gpt-5-mini, anthropic/*. Empty: every model",
    },
    gateways: { label: "Gateways", isMore: true, hint: "With commas. Empty: every gateway" },
    rate: { label: "Requests per minute", kind: "number", isMore: true, hint: "Empty: no limit" },
    expires: { label: "Expires", isMore: true, input: { type: "date" } },
    owner: { label: "Owner", isMore: true },
  } satisfies Record<string, FieldSpec>;
}

function valuesOf(one: KeyView) {
  return {
    name: one.name,
    team: one.team ?? "",
    budget: monthlyOf(one),
    models: one.models?.join(", ") ?? "",
    gateways: one.gateways?.join(", ") ?? "",
    owner: one.owner ?? "",
    rate: rateOf(one),
    expires: one.expires_at?.slice(0, 10) ?? "",
  };
}

type Limits = KeyView["limits"];

/** The body of a new key, or of a change; limits that the form does not show stay. */
function bodyOf(
  values: Readonly<Record<keyof ReturnType<typeof keyFields>, string>>,
  row: KeyView | null,
): object {
  const orNull = (text: string): string[] | null => {
    const found = listOf(text);
    return found.length === 0 ? null : found;
  };
  const others = withMonthly(row?.limits ?? [], values.budget).filter((one) => !isRate(one));
  const rate = { limitType: "requests", limit: Number(values.rate), window: MINUTE };
  return {
    name: values.name,
    team: values.team === "" ? null : values.team,
    limits: values.rate === "" ? others : [...others, rate],
    models: orNull(values.models),
    gateways: orNull(values.gateways),
    owner: values.owner === "" ? null : values.owner,
    expires_at: values.expires === "" ? null : `${values.expires}T00:00:00Z`,
  };
}

const MINUTE = 60;

function isRate({ limitType, window: length }: Pick<Limits[number], "limitType" | "window">) {
  return limitType === "requests" && length === MINUTE;
}

function isMonthly({ limitType, window: length, models, soft }: Limits[number]): boolean {
  return limitType === "cost" && length === "month" && models === undefined && soft !== true;
}

function rateOf({ limits }: KeyView): string {
  return String(limits.find(isRate)?.limit ?? "");
}

function monthlyOf({ limits }: TeamView | KeyView): string {
  return String(limits.find(isMonthly)?.limit ?? "");
}

/** Limits with another monthly budget; none where it is empty. */
function withMonthly(limits: Limits, budget: string): Limits {
  const others = limits.filter((one) => !isMonthly(one));
  if (budget === "") return others;
  return [
    ...others,
    { limitType: "cost", limit: Number(budget), window: "month", technique: "fixed" },
  ];
}

function budgetsOf({ usage }: TeamView | KeyView): string {
  return usage.map(limitText).join("; ") || "none";
}

function stateOf({ enabled, declared }: TeamView | KeyView) {
  const state = enabled ? "on" : <strong class="warn-text">off</strong>;
  return declared ? <>{state}, of the configuration</> : state;
}

interface SwitchProps {
  readonly of: TeamView | KeyView;
  readonly root: string;
  readonly facts: SessionFacts;
  readonly onChange: () => void;
}

function Switch({ of: { id, enabled }, root, facts, onChange }: SwitchProps) {
  return (
    <Action
      key={String(enabled)}
      label={enabled ? "Disable" : "Enable"}
      disabled={facts.readOnly}
      onRun={async () => {
        await change("PATCH", `${root}/${id}`, { enabled: !enabled });
        onChange();
      }}
    />
  );
}
