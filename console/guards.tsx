import type {
  DlpAction,
  DlpPolicy,
  Guardrails,
  SafetyAction,
} from "../core/gateway/account/settings/safety-settings.ts";
import { hazards } from "../core/gateway/account/settings/hazards.ts";
import type { GatewayChanges, GatewaySettings } from "../core/gateway/account/settings/settings.ts";
import type { SpendRule } from "../core/gateway/account/settings/spend-settings.ts";
import { type FieldSpec, listOf, RecordForm } from "./form.tsx";
import { usd } from "./limit-text.ts";
import { Records } from "./records.tsx";
import { saveGateway } from "./save-gateway.ts";

interface GuardsProps {
  readonly gateway: GatewaySettings;
  /** The path of the gateway in the API. */
  readonly path: string;
  readonly readOnly: boolean;
  readonly onSaved: () => void;
}

interface GuardProps extends Omit<GuardsProps, "path"> {
  readonly save: (changes: GatewayChanges) => Promise<void>;
}

/** The spend limits and guardrails of a gateway: the rules by which it refuses requests. */
export function Guards(props: GuardsProps) {
  const { gateway, path } = props;
  const own = {
    ...props,
    save: (changes: GatewayChanges) => saveGateway(path, gateway, changes),
  };
  return (
    <>
      <SpendLimits {...own} />
      <GuardrailSettings {...own} />
      <Dlp {...own} />
    </>
  );
}

/** A list that comes with the gateway. */
function listed<T>(value: readonly T[], reload: () => void) {
  return { value, error: null, reload };
}

const windows = {
  "3600": "an hour",
  "86400": "a day",
  "604800": "7 days",
  "2592000": "30 days",
} as const;

const ruleFields = {
  limit: { label: "US dollars", kind: "number", input: { max: 100_000 } },
  window: { label: "In", options: windows },
  models: { label: "Models", isMore: true, hint: "With commas. Empty: every model" },
  providers: { label: "Providers", isMore: true, hint: "With commas. Empty: every provider" },
  each: {
    label: "For each value of",
    isMore: true,
    hint: "A key of the metadata, such as user: each of its values gets its own budget",
  },
} satisfies Record<string, FieldSpec>;

function SpendLimits({ gateway, readOnly, onSaved, save }: GuardProps) {
  const limits = gateway.spend_limits ?? {};
  const rules = limits.rules ?? [];
  const put = (next: SpendRule[]): Promise<void> =>
    save({ spend_limits: { ...limits, enabled: next.length > 0, rules: next } });
  return (
    <Records
      id="spend-limits-title"
      isPart
      title="Spend limits"
      noun="spend limit"
      none="No limit: callers may spend what their keys and teams allow."
      of={listed(rules, onSaved)}
      head={["At most", "In", "Counts"]}
      keyOf={(rule) => String(rules.indexOf(rule))}
      nameOf={(rule) => `limit ${rules.indexOf(rule) + 1}`}
      cellsOf={(rule) => [usd(rule.limit), windowText(rule.window), scopeOf(rule)]}
      fieldsOf={() => ruleFields}
      valuesOf={(rule) => ({
        limit: String(rule.limit),
        window: String(rule.window),
        models: rule.model?.values.join(", ") ?? "",
        providers: rule.provider?.values.join(", ") ?? "",
        each: Object.keys(rule.metadata ?? {}).join(", "),
      })}
      onSave={(values, row) => {
        const { model: _, provider: __, metadata: ___, ...former } = row ?? {};
        const rule = { ...former, ...ruleOf(values) };
        return put(
          row === null ? [...rules, rule] : rules.map((one) => (one === row ? rule : one)),
        );
      }}
      onDelete={(row) => put(rules.filter((one) => one !== row))}
      loss="This also deletes its counts."
      disabled={readOnly}
    />
  );
}

function ruleOf(values: Readonly<Record<keyof typeof ruleFields, string>>): SpendRule {
  const filter = (name: "model" | "provider", text: string) => {
    const found = listOf(text);
    return found.length === 0 ? {} : { [name]: { mode: "filter" as const, values: found } };
  };
  const keys = listOf(values.each).map((key) => [key, { mode: "partition" as const }] as const);
  return {
    limit: Number(values.limit),
    limitType: "cost",
    window: Number(values.window),
    ...filter("model", values.models),
    ...filter("provider", values.providers),
    ...(keys.length === 0 ? {} : { metadata: Object.fromEntries(keys) }),
  };
}

function windowText(seconds: number): string {
  const names: Readonly<Record<string, string>> = windows;
  return names[String(seconds)] ?? `${seconds} s`;
}

function scopeOf({ model, provider, metadata }: SpendRule): string {
  const parts = [
    ...(provider?.values ?? []),
    ...(model?.values ?? []),
    ...Object.keys(metadata ?? {}).map((key) => `each ${key}`),
  ];
  return parts.length === 0 ? "every request" : parts.join(", ");
}

const harmActions = { "": "let pass", FLAG: "note", BLOCK: "refuse" } as const;
const sides = { prompt: "Question", response: "Answer" } as const;

const harmFields = Object.fromEntries(
  Object.entries(hazards).flatMap(([code, name]) =>
    Object.entries(sides).map(([side, title]): [string, FieldSpec] => [
      `${side}.${code}`,
      { label: `${title}: ${name}`, options: harmActions },
    ]),
  ),
);

function GuardrailSettings({ gateway, readOnly, onSaved, save }: GuardProps) {
  const { prompt = {}, response = {} } = gateway.guardrails ?? {};
  const given = { prompt, response };
  const initial = Object.fromEntries(
    Object.entries(given).flatMap(([side, actions]) =>
      Object.entries(actions).map(([code, action]) => [`${side}.${code}`, action]),
    ),
  );
  const isOn = Object.keys(initial).length > 0;
  return (
    <section class="stack" aria-labelledby="guardrails-title">
      <h3 id="guardrails-title">Guardrails</h3>
      <p class="muted small">
        A model looks for harm in questions and answers: {isOn ? "on" : "off"}. It needs a judge in
        the options of the server; without one, requests that may be refused are (503).
      </p>
      <details>
        <summary>Choose what is refused</summary>
        <RecordForm
          action="Save guardrails"
          isKept
          fields={harmFields}
          initial={initial}
          disabled={readOnly}
          onSave={async (values) => {
            await save({ guardrails: guardrailsOf(values) });
            onSaved();
          }}
        />
      </details>
    </section>
  );
}

/** Null where everything passes. */
function guardrailsOf(values: Readonly<Record<string, string>>): Guardrails | null {
  const made: Guardrails = { prompt: {}, response: {} };
  let isEmpty = true;
  for (const [name, action] of Object.entries(values)) {
    if (action === "") continue;
    const [side = "", code = ""] = name.split(".");
    made[side as keyof Guardrails][code] = action as SafetyAction;
    isEmpty = false;
  }
  return isEmpty ? null : made;
}

const policyFields = {
  profiles: { label: "Looks for", hint: "With commas: secrets, financial, pii, email …" },
  action: {
    label: "Then",
    hint: "Requests alone are masked",
    options: { BLOCK: "refuse", FLAG: "note", MASK: "mask" },
  },
  check: {
    label: "In",
    options: { both: "requests and answers", REQUEST: "requests", RESPONSE: "answers" },
  },
  id: { label: "Name of the policy", input: { maxLength: 128 } },
} satisfies Record<string, FieldSpec>;

function Dlp({ gateway, readOnly, onSaved, save }: GuardProps) {
  const policies = policiesOf(gateway);
  const put = (next: DlpPolicy[]): Promise<void> =>
    save({ dlp: { enabled: next.some(({ enabled }) => enabled), policies: next } });
  return (
    <Records
      id="dlp-title"
      isPart
      title="Data loss prevention"
      noun="policy"
      none="No policy: texts are not searched for keys, card numbers or addresses."
      of={listed(policies, onSaved)}
      head={["Policy", "Looks for", "In", "Then"]}
      keyOf={({ id }) => id}
      nameOf={({ id }) => id}
      cellsOf={({ id, profiles, check, action }) => [
        id,
        profiles.join(", "),
        policyFields.check.options[sideOf(check)],
        policyFields.action.options[action],
      ]}
      fieldsOf={() => policyFields}
      valuesOf={({ id, profiles, check, action }) => ({
        id,
        profiles: profiles.join(", "),
        check: sideOf(check),
        action,
      })}
      onSave={({ id, profiles, check, action }, row) => {
        const policy: DlpPolicy = {
          id,
          enabled: true,
          action: action as DlpAction,
          check: check === "both" ? ["REQUEST", "RESPONSE"] : [check as "REQUEST"],
          profiles: listOf(profiles),
        };
        return put(
          row === null
            ? [...policies, policy]
            : policies.map((one) => (one === row ? policy : one)),
        );
      }}
      onDelete={(row) => put(policies.filter((one) => one !== row))}
      loss="It will look for nothing."
      disabled={readOnly}
    />
  );
}

function sideOf(check: DlpPolicy["check"]): keyof typeof policyFields.check.options {
  return check.length > 1 ? "both" : (check[0] ?? "both");
}

/** The policies of either form of the setting. */
function policiesOf({ dlp }: GatewaySettings): readonly DlpPolicy[] {
  if (dlp == null) return [];
  if ("policies" in dlp) return dlp.policies;
  const { enabled, action, profiles } = dlp;
  return [{ id: "dlp", enabled, action, check: ["REQUEST", "RESPONSE"], profiles }];
}
