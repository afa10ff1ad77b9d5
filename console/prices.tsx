import { useState } from "preact/hooks";
import type { Answers } from "../scripts/openapi/answers.ts";
import { askResult } from "./api.ts";
import { Choice, Field, type FieldSpec, numberOr } from "./form.tsx";
import { usd } from "./limit-text.ts";
import { accountPath, change, changesOf, instant, type PageProps, useLoaded } from "./parts.tsx";
import { Records } from "./records.tsx";

type Price = Answers["ModelPrice"];

const fields = {
  provider: { label: "Provider", hint: "As in a request's path" },
  model: { label: "Model", hint: "* is every model without a price of its own" },
  input: { label: "Tokens in ($ per million)", kind: "number" },
  output: { label: "Tokens out ($ per million)", kind: "number" },
  cached: { label: "Tokens from a cache ($ per million)", kind: "number", isMore: true },
  from: { label: "Since", isMore: true, input: { type: "date" } },
  source: { label: "Source", isMore: true, hint: "Where the price is published" },
} satisfies Record<string, FieldSpec>;

const origins = { api: "set here", file: "of the configuration", "built-in": "built in" };

/** The prices of models: your own go before those that are built in. */
export function Prices({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-gateway/prices`;
  const [origin, setOrigin] = useState("api");
  const [provider, setProvider] = useState("");
  const query = new URLSearchParams({ origin, per_page: "100" });
  if (provider.trim() !== "") query.set("provider", provider.trim());
  const prices = useLoaded(
    () => askResult<readonly Price[]>(`${root}?${query.toString()}`),
    [origin, provider, changesOf(live, "gateway")],
  );
  return (
    <>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Field
          label="Prices of the provider"
          value={provider}
          input={{ type: "search", required: false, placeholder: "all" }}
          onInput={setProvider}
        />
        <Choice label="That are" value={origin} options={origins} onChoose={setOrigin} />
      </form>
      <Records
        id="prices-title"
        title="Prices"
        noun="price"
        none="No price matches. A model without a price costs nothing in reports, and budgets refuse it."
        of={prices}
        head={["Model", "In", "Out", "Since", "Source"]}
        keyOf={(one) => `${one.provider}/${one.model}/${one.from ?? ""}`}
        nameOf={(one) => `${one.provider}/${one.model}`}
        cellsOf={(one) => [
          `${one.provider}/${one.model}`,
          usd(one.input),
          usd(one.output),
          instant(one.from),
          one.source ?? "–",
        ]}
        fieldsOf={() => fields}
        onSave={(values) =>
          change("PUT", root, {
            provider: values.provider,
            model: values.model,
            input: Number(values.input),
            output: Number(values.output),
            ...(values.cached === "" ? {} : { cached: numberOr(values.cached, 0) }),
            ...(values.from === "" ? {} : { from: values.from }),
            ...(values.source === "" ? {} : { source: values.source }),
          })
        }
        onDelete={({ id }) => change("DELETE", `${root}/${id ?? ""}`)}
        loss="The former price counts again."
        isDeclared={({ id }) => id === undefined}
        disabled={facts.readOnly}
      />
    </>
  );
}
