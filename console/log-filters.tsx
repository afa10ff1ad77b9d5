import type { ComponentChildren } from "preact";
import type { Callers } from "./callers.ts";
import { Choice, Field } from "./form.tsx";
import type { LogNames } from "./gateway-log.tsx";
import { type LogFilter, noFilter, type TimeRange, timeRanges } from "./log-query.ts";

const outcomes = {
  "": "all",
  failed: "failed",
  succeeded: "succeeded",
  cached: "from the cache",
} as const;

interface LogFiltersProps {
  readonly filter: LogFilter;
  readonly names: LogNames | null;
  readonly callers: Callers;
  readonly onFilter: (filter: LogFilter) => void;
}

/** The filters of the stored requests. */
export function LogFilters(props: LogFiltersProps) {
  const { filter, onFilter } = props;
  return (
    <form
      role="search"
      aria-label="Filter stored requests"
      onSubmit={(event) => event.preventDefault()}
    >
      <div class="filters">
        <Field
          label="Search"
          value={filter.text}
          input={{ type: "search", required: false, placeholder: "id, path, metadata, reason" }}
          onInput={(text) => onFilter({ ...filter, text })}
        />
        <Choice
          label="Time"
          value={filter.range}
          options={timeRanges}
          onChoose={(range) => onFilter({ ...filter, range: range as TimeRange })}
        />
        <Choice
          label="Outcome"
          value={filter.outcome}
          options={outcomes}
          onChoose={(outcome) => onFilter({ ...filter, outcome: outcome as LogFilter["outcome"] })}
        />
        <Names {...props} />
        {filter.range === "custom" && <Times filter={filter} onFilter={onFilter} />}
      </div>
      <More>
        <Least filter={filter} onFilter={onFilter} />
        <button type="button" onClick={() => onFilter(noFilter)}>
          No filter
        </button>
      </More>
    </form>
  );
}

/** The filters by gateway, provider and caller. */
function Names({ filter, names, callers, onFilter }: LogFiltersProps) {
  const choice = (
    label: string,
    name: "gateway" | "provider" | "caller",
    options: Readonly<Record<string, string>>,
  ) => (
    <Choice
      label={label}
      value={filter[name]}
      options={{ "": "all", ...options }}
      onChoose={(value) => onFilter({ ...filter, [name]: value })}
    />
  );
  const same = (texts: readonly string[] = []): Record<string, string> =>
    Object.fromEntries(texts.map((text) => [text, text]));
  return (
    <>
      {choice("Gateway", "gateway", same(names?.gateways))}
      {choice("Provider", "provider", same(names?.providers))}
      <Field
        label="Model"
        value={filter.model}
        input={{ type: "search", required: false, list: "log-models", placeholder: "all" }}
        onInput={(model) => onFilter({ ...filter, model })}
      />
      <datalist id="log-models">
        {names?.models.map((model) => (
          <option key={model} value={model} />
        ))}
      </datalist>
      {choice("Caller", "caller", Object.fromEntries(callers.names))}
    </>
  );
}

function More({ children }: { readonly children: ComponentChildren }) {
  return (
    <details class="more">
      <summary>More filters</summary>
      <div class="filters">{children}</div>
    </details>
  );
}

type PartProps = Pick<LogFiltersProps, "filter" | "onFilter">;

function Times({ filter, onFilter }: PartProps) {
  const time = (label: string, name: "from" | "until") => (
    <Field
      label={label}
      value={filter[name]}
      input={{ type: "datetime-local", required: false }}
      onInput={(value) => onFilter({ ...filter, [name]: value })}
    />
  );
  return (
    <>
      {time("From", "from")}
      {time("Until", "until")}
    </>
  );
}

function Least({ filter, onFilter }: PartProps) {
  const least = (label: string, name: "tokens" | "cost" | "firstByte") => (
    <Field
      label={label}
      value={filter[name]}
      input={{ type: "number", min: 0, step: "any", required: false }}
      onInput={(value) => onFilter({ ...filter, [name]: value })}
    />
  );
  return (
    <>
      {least("Tokens, at least", "tokens")}
      {least("Cost in US dollars, at least", "cost")}
      {least("First byte after ms, at least", "firstByte")}
    </>
  );
}
