import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import { type FieldSpec, numberOr } from "./form.tsx";
import { change, useLoaded } from "./parts.tsx";
import { Records } from "./records.tsx";

type ProviderKey = Answers["StoredProviderKey"];

interface ProviderKeysProps {
  /** The path of the gateway in the API. */
  readonly path: string;
  readonly readOnly: boolean;
  /** Changes whenever something of the gateway was changed. */
  readonly changed: string;
}

/** The keys of providers that a gateway keeps sealed: requests need none of their own then. */
export function ProviderKeys({ path, readOnly, changed }: ProviderKeysProps) {
  const root = `${path}/provider_configs`;
  const keys = useLoaded(
    () => askResult<readonly ProviderKey[]>(`${root}?per_page=50`),
    [path, changed],
  );
  return (
    <Records
      id="provider-keys-title"
      isPart
      title="Provider keys"
      noun="provider key"
      none="No key is stored. Store one, and callers reach the provider without a key of their own."
      of={keys}
      head={["Provider", "Alias", "Key", "Default", "Requests at most"]}
      keyOf={({ id }) => id}
      nameOf={({ provider_slug: slug, alias }) => `${slug}/${alias}`}
      cellsOf={(one) => [
        one.provider_slug,
        one.alias,
        <span class="mono">{one.secret_preview}</span>,
        one.default_config ? "yes" : "no",
        one.rate_limit === undefined
          ? "no limit"
          : `${one.rate_limit} in ${one.rate_limit_period ?? 60} s`,
      ]}
      fieldsOf={fieldsOf}
      initial={{ alias: "default", isDefault: "on" }}
      valuesOf={(one) => ({
        provider: one.provider_slug,
        alias: one.alias,
        isDefault: one.default_config ? "on" : "",
        limit: String(one.rate_limit ?? ""),
        period: String(one.rate_limit_period ?? ""),
      })}
      onSave={(values, row) =>
        change(row === null ? "POST" : "PATCH", row === null ? root : `${root}/${row.id}`, {
          provider_slug: values.provider,
          alias: values.alias,
          default_config: values.isDefault === "on",
          ...(values.secret === "" ? {} : { secret: values.secret }),
          rate_limit: numberOr(values.limit, null),
          rate_limit_period: numberOr(values.period, null),
        })
      }
      onDelete={({ id }) => change("DELETE", `${root}/${id}`)}
      loss="Requests that need it will fail."
      disabled={readOnly}
    />
  );
}

function fieldsOf(row: ProviderKey | null) {
  return {
    provider: {
      label: "Provider",
      hint: "As in a request's path: openai, anthropic, custom-lab",
      input: { readOnly: row !== null },
    },
    secret: {
      label: "Key of the provider",
      hint: row === null ? "It is sealed at once, and never shown." : "Empty: the key stays.",
      input: { type: "password", autocomplete: "off", required: row === null },
    },
    alias: { label: "Alias", input: { pattern: String.raw`[\w.\-]{1,64}` } },
    isDefault: { label: "Use it unless a request names another", kind: "check" },
    limit: { label: "Requests per period", kind: "number", isMore: true },
    period: { label: "Period (seconds)", kind: "number", isMore: true, hint: "Empty: 60" },
  } satisfies Record<string, FieldSpec>;
}
