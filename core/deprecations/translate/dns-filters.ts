import {
  afterColon,
  betweenCommas,
  joinParameters,
  parseRawQuery,
  type RawParameter,
} from "./raw-query.ts";

/** Values that one comma list (or one cross product of lists) may stand for. */
export const FILTER_VALUES_LIMIT: number = 50;

/** The entries of the table that a DNS list query uses, by their numbers in `dns-list-filters`. */
export type FilterEntry = "01" | "02" | "03" | "04" | "05" | "06" | "07" | "08" | "09";

/** The rewrite of the query of `GET /zones/{zone_id}/dns_records`. */
export type FilterPlan =
  /** Nothing to rewrite. */
  | { readonly kind: "unchanged" }
  /** One request with this raw query has exactly the old meaning. */
  | { readonly kind: "rewrite"; readonly query: string }
  /** The union of the answers to these queries (all pages), merged by `mergeFanOut`, has the old meaning. */
  | { readonly kind: "fan-out"; readonly queries: readonly string[]; readonly view: FanOutView }
  /** No request has the old meaning. */
  | { readonly kind: "refuse"; readonly entry: FilterEntry; readonly instead: string };

/** The page and order of the merged answer of a fan-out. */
export interface FanOutView {
  readonly page: number;
  readonly perPage: number;
  readonly order: string | null;
  readonly direction: "asc" | "desc";
}

/** Parameters that choose no records. */
const NO_FILTER = new Set(["page", "per_page", "order", "direction", "match"]);
const PREFIXES = ["contains", "starts_with", "ends_with"] as const;
const MODERN = { contains: "contains", starts_with: "startswith", ends_with: "endswith" } as const;
const NUMBERS = { name: ["01", "02", "03", "04"], content: ["05", "06", "07", "08"] } as const;
type Field = keyof typeof NUMBERS;
type Prefix = (typeof PREFIXES)[number];

/**
 * The old filter forms that a query uses, as entry numbers in the table's order.
 *
 * @example
 * ```ts
 * import { usedFilters } from "causey/deprecations";
 *
 * usedFilters("name=contains:shop&type=A"); // → ["01"]
 * ```
 */
export function usedFilters(query: string): FilterEntry[] {
  return filtersAmong(parseRawQuery(query));
}

/** Does {@link usedFilters} with the parameters of a query. */
export function filtersAmong(parameters: readonly RawParameter[]): FilterEntry[] {
  const used = joinedLists(parameters, () => true).flatMap((one) => formOf(one)?.entry ?? []);
  return [...new Set(used)].toSorted();
}

/**
 * Plans the rewrite of the old filter forms for which `enforced` returns true; the other forms, and all other
 * parameters, stay byte for byte. Planning a rewritten query again changes nothing.
 *
 * @example
 * ```ts
 * import { planFilters } from "causey/deprecations";
 *
 * planFilters("name=contains:shop").kind; // → "rewrite"
 * ```
 */
export function planFilters(
  query: string,
  enforced: (entry: FilterEntry) => boolean = () => true,
): FilterPlan {
  return planParameters(parseRawQuery(query), enforced);
}

/** Does {@link planFilters} with the parameters of a query. */
export function planParameters(
  parameters: readonly RawParameter[],
  enforced: (entry: FilterEntry) => boolean,
): FilterPlan {
  const steps: Step[] = [];
  for (const parameter of joinedLists(parameters, enforced)) {
    const operated = operatorOf(parameter);
    if (operated !== null && operated.modern === null && enforced(operated.entry)) {
      const { entry, instead } = operated;
      return { kind: "refuse", entry, instead };
    }
    const form = formOf(parameter);
    if (form === null || !enforced(form.entry)) {
      const texts = [operated?.modern == null ? parameter.raw : operated.modern];
      steps.push({ parameter, texts });
      continue;
    }
    const rewritten = rewriteForm(form, parameter);
    if ("refuse" in rewritten)
      return { kind: "refuse", entry: form.entry, instead: rewritten.refuse };
    steps.push({ parameter, texts: rewritten.texts });
  }
  return combine(steps, joinParameters(parameters));
}

/** Repeated `name[]=a&name[]=b`, as one comma list. A stranger may repeat one thousands of times. */
function joinedLists(
  parameters: readonly RawParameter[],
  enforced: (entry: FilterEntry) => boolean,
): RawParameter[] {
  const lists = new Map<string, { readonly at: number; readonly values: string[] }>();
  const joined: RawParameter[] = [];
  for (const parameter of parameters) {
    const field = /^(name|content|type)\[\d*\]$/.exec(parameter.name)?.[1];
    if (field === undefined || !enforced(LIST_ENTRY[field] ?? "04")) joined.push(parameter);
    else if (lists.has(field)) lists.get(field)?.values.push(parameter.rawValue);
    else lists.set(field, { at: joined.push(parameter) - 1, values: [parameter.rawValue] });
  }
  for (const [field, { at, values }] of lists) {
    const [list] = parseRawQuery(`${field}=${values.join(",")}`);
    if (list !== undefined) joined[at] = list;
  }
  return joined;
}

/** The entry at whose date a list of a field ends. */
const LIST_ENTRY: Readonly<Record<string, FilterEntry>> = { name: "04", content: "08", type: "09" };

interface Step {
  /** Several texts are alternatives: the old comma list. */
  readonly texts: readonly string[];
  readonly parameter: RawParameter;
}

const EXACT_TYPE = "an exact type such as type=CNAME, or search=<text>";

interface Form {
  readonly entry: FilterEntry;
  readonly field: Field | "type";
  readonly prefix: Prefix | null;
}

function formOf({ name, value }: RawParameter): Form | null {
  if (name === "type") {
    const prefix = value.startsWith("contains:") ? "contains" : null;
    return prefix === null && !value.includes(",") ? null : { entry: "09", field: "type", prefix };
  }
  if (name !== "name" && name !== "content") return null;
  for (const [index, prefix] of PREFIXES.entries()) {
    if (value.startsWith(`${prefix}:`))
      return { entry: NUMBERS[name][index] ?? "01", field: name, prefix };
  }
  return isList(name, value) ? { entry: NUMBERS[name][3], field: name, prefix: null } : null;
}

/** Contents hold real commas (TXT, CAA, SPF): one with a space, `=` or `"` is a text, not a list. */
function isList(field: Field, value: string): boolean {
  return value.includes(",") && (field === "name" || !/[ ="]/.test(value));
}

function rewriteForm(
  form: Form,
  { rawValue }: RawParameter,
): { texts: string[] } | { refuse: string } {
  const { field, prefix } = form;
  if (field === "type" && prefix !== null) return { refuse: EXACT_TYPE };
  if (prefix !== null && field !== "type") {
    const rest = afterColon(rawValue);
    if (rest === "") return { refuse: `${field}.${MODERN[prefix]}=<value> with a value` };
    return { texts: [`${field}.${MODERN[prefix]}=${rest}`] };
  }
  const values = betweenCommas(rawValue);
  return values.length === 0
    ? { refuse: `${field}=<value> with a value` }
    : { texts: values.map((v) => `${field}=${v}`) };
}

interface Operated {
  readonly entry: FilterEntry;
  /** The parameter in its modern form; null for an operator that no server knows. */
  readonly modern: string | null;
  /** The forms there are. */
  readonly instead: string;
}

const TEXT_OPERATORS = ["contains", "startswith", "endswith", "exact"];
/** Operators by field (`client.dns.records.list` of https://www.npmjs.com/package/cloudflare 7.3.0). */
const OPERATORS: Readonly<Record<string, readonly string[]>> = {
  name: TEXT_OPERATORS,
  content: TEXT_OPERATORS,
  comment: [...TEXT_OPERATORS, "present", "absent"],
  tag: [...TEXT_OPERATORS, "present", "absent"],
  type: [],
};

/**
 * A filter with an operator, in brackets (SDK 3.0.0 sends `name[contains]=v`) or after a dot; null for any other. A server
 * would pass over a filter that it does not know, and answer with the whole zone.
 */
function operatorOf({ name, rawValue }: RawParameter): Operated | null {
  const match = /^(name|content|comment|tag|type)(?:\.([^[\]]*)|\[(.*)\])$/.exec(name);
  const field = match?.[1] ?? "";
  const known = OPERATORS[field];
  if (known === undefined) return null;
  const operator = (match?.[2] ?? match?.[3] ?? "").replace(/^(starts|ends)_with$/, "$1with");
  const modern = known.includes(operator) ? `${field}.${operator}=${rawValue}` : null;
  const instead = field === "type" ? EXACT_TYPE : known.map((one) => `${field}.${one}`).join(", ");
  return { entry: ENTRY_OF[field] ?? "01", modern, instead };
}

/** The entry at whose date an operator of a field ends. */
const ENTRY_OF: Readonly<Record<string, FilterEntry>> = { content: "05", type: "09" };

function combine(steps: readonly Step[], query: string): FilterPlan {
  const lists = steps.filter((step) => step.texts.length > 1);
  const [first] = lists;
  const total = lists.reduce((product, step) => product * step.texts.length, 1);
  const matchesAny = steps.some(
    ({ parameter: { name, value } }) => name === "match" && value === "any",
  );
  // A server takes one type: each is a request of its own.
  const isByType = lists.some(({ parameter: { name } }) => name === "type");
  const size =
    matchesAny && !isByType ? Math.max(0, ...lists.map((step) => step.texts.length)) : total;
  if (first !== undefined && size > FILTER_VALUES_LIMIT) {
    const { name: field } = first.parameter;
    const instead = `one request per value, or ?match=any&${field}=<a>&${field}=<b>, with at most ${FILTER_VALUES_LIMIT} values`;
    return { kind: "refuse", entry: LIST_ENTRY[field] ?? "04", instead };
  }
  const filters = steps.filter(
    (step) => !NO_FILTER.has(step.parameter.name) && step.parameter.raw !== "",
  );
  if (first !== undefined && (isByType || (!matchesAny && filters.length > 1)))
    return fanOut(steps);
  const texts = steps.flatMap((step) => {
    if (first === undefined || matchesAny) return step.texts;
    if (step.parameter.name === "match") return [];
    return step === first ? ["match=any", ...step.texts] : step.texts;
  });
  const rewritten = texts.join("&");
  return rewritten === query ? { kind: "unchanged" } : { kind: "rewrite", query: rewritten };
}

/** `match=any` would join every other filter too and find more: each value is asked for on its own. */
function fanOut(steps: readonly Step[]): FilterPlan {
  let queries: string[][] = [[]];
  for (const texts of alternatives(steps))
    queries = queries.flatMap((query) => texts.map((text) => [...query, text]));
  const last = (name: string): string | null =>
    steps.findLast((step) => step.parameter.name === name)?.parameter.value ?? null;
  const whole = (text: string | null, fallback: number): number =>
    text !== null && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : fallback;
  return {
    kind: "fan-out",
    queries: queries.map((query) => query.join("&")),
    view: {
      page: whole(last("page"), 1),
      perPage: whole(last("per_page"), 100),
      order: last("order"),
      direction: last("direction") === "desc" ? "desc" : "asc",
    },
  };
}

/** The texts of the steps of a fan-out. What all its queries have alike between two lists is one text, however long. */
function alternatives(steps: readonly Step[]): string[][] {
  const all: string[][] = [];
  let alike: string[] = [];
  const flush = (): void => {
    if (alike.length > 0) all.push([alike.join("&")]);
    alike = [];
  };
  for (const { parameter, texts } of steps) {
    if (parameter.name === "page" || parameter.name === "per_page") continue;
    if (texts.length === 1) alike.push(...texts);
    else {
      flush();
      all.push([...texts]);
    }
  }
  flush();
  return all;
}

/** The members of a listed record that merging reads. */
export interface ListedRecord extends Readonly<Record<string, unknown>> {
  readonly id: string;
}

/** One page of the merged list, as the API shows it. */
export interface MergedPage {
  readonly result: readonly ListedRecord[];
  readonly result_info: {
    readonly page: number;
    readonly per_page: number;
    readonly count: number;
    readonly total_count: number;
    readonly total_pages: number;
  };
}

/**
 * Merges the complete answers to the queries of a fan-out: every record once, ordered by the asked field (ties and no
 * field: in the order in which they came), cut to the asked page.
 *
 * @example
 * ```ts
 * import { mergeFanOut } from "causey/deprecations";
 *
 * const view = { page: 1, perPage: 100, order: "name", direction: "asc" } as const;
 * const a = { id: "1", name: "a.example.com" };
 * const b = { id: "2", name: "b.example.com" };
 * mergeFanOut([[b], [a, b]], view).result; // → [a, b]
 * ```
 */
export function mergeFanOut(
  lists: readonly (readonly ListedRecord[])[],
  view: FanOutView,
): MergedPage {
  const byId = new Map<string, ListedRecord>();
  for (const record of lists.flat()) {
    if (!byId.has(record.id)) byId.set(record.id, record);
  }
  const { order, page, perPage } = view;
  const sign = view.direction === "desc" ? -1 : 1;
  const all = [...byId.values()];
  const sorted = order === null ? all : all.toSorted((a, b) => sign * compare(a[order], b[order]));
  const result = sorted.slice((page - 1) * perPage, page * perPage);
  const result_info = {
    page,
    per_page: perPage,
    count: result.length,
    total_count: sorted.length,
    total_pages: Math.ceil(sorted.length / perPage),
  };
  return { result, result_info };
}

function compare(a: unknown, b: unknown): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [asText(a), asText(b)];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}
