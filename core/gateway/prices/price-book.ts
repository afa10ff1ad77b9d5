import { modelSpellings, plainName, providerOfFamily } from "./model-spellings.ts";
import type { Price } from "./price.ts";
import { type PriceRowSetting, priceOfRow, startOf } from "./price-rows.ts";
import { type PriceList, priceLists } from "./prices.ts";

/** The source of a price; an earlier one outranks a later one. */
export type PriceOrigin = "api" | "file" | "built-in";

/** One price, and on whose word. */
export interface PriceEntry {
  /** Path segment. */
  readonly provider: string;
  readonly model: string;
  /** Since when it counts, in Unix ms; null = always. */
  readonly from: number | null;
  readonly price: Price;
  readonly origin: PriceOrigin;
  /** A public address for built-in prices, else what the operator noted. */
  readonly source: string | null;
  /** For a built-in price: the day on which its source was looked up. */
  readonly checked: string | null;
  /** For a price that the management API stores: its id. */
  readonly id?: string;
}

/** The prices that are in use. */
export interface PriceBook {
  /** The price of a model at a provider (a path segment) at `now` (Unix ms); null = not known, nothing is guessed. */
  find(model: string, provider: string, now: number): PriceEntry | null;
  /** Every price, those to come and those of before included. */
  entries(): PriceEntry[];
}

/** The rows that operators give, by who gave them. */
export interface OwnPrices {
  readonly api?: readonly (PriceRowSetting & { readonly id?: string })[];
  readonly file?: readonly PriceRowSetting[];
}

/** The wildcard for the models of a provider that have no price of their own. */
const ANY = "*";
/** Models whose rows are remembered: callers name them, so their number is bounded. */
const REMEMBERED = 1000;

/**
 * Makes a book of the built-in prices with those of operators over them. The most specific name decides first (a snapshot,
 * its model, `*`), then who says it, then the latest date that has come.
 */
export function priceBook({ api = [], file = [] }: OwnPrices = {}): PriceBook {
  const layers = [byModel(api, "api"), byModel(file, "file")];
  const known = new Map<string, readonly PriceEntry[]>();
  const candidates = (model: string, provider: string): readonly PriceEntry[] => {
    const key = `${provider}\n${model}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const all = candidatesOf(model, provider, layers);
    if (known.size >= REMEMBERED) known.clear();
    known.set(key, all);
    return all;
  };
  return {
    find(model, provider, now) {
      if (model === "") return null;
      return candidates(model, provider).find(({ from }) => from === null || from <= now) ?? null;
    },
    entries: () => [...layers.flatMap((layer) => [...layer.values()].flat()), ...builtInEntries()],
  };
}

type Layer = ReadonlyMap<string, readonly PriceEntry[]>;

/** Returns the rows of one origin by provider and model, the latest first. */
function byModel(rows: NonNullable<OwnPrices["api"]>, origin: PriceOrigin): Layer {
  const entries = rows.map((row) => entryOf(row, origin));
  return Map.groupBy(entries.toSorted(latestFirst), ({ provider, model }) =>
    keyOf(provider, model),
  );
}

function latestFirst(a: PriceEntry, b: PriceEntry): number {
  return (b.from ?? Number.NEGATIVE_INFINITY) - (a.from ?? Number.NEGATIVE_INFINITY) || 0;
}

function entryOf(row: PriceRowSetting & { readonly id?: string }, origin: PriceOrigin): PriceEntry {
  return {
    ...(row.id === undefined ? {} : { id: row.id }),
    provider: row.provider,
    model: row.model,
    from: startOf(row),
    price: priceOfRow(row),
    origin,
    source: row.source ?? null,
    checked: null,
  };
}

function keyOf(provider: string, model: string): string {
  return `${provider.toLowerCase()}\n${plainName(model)}`;
}

/** Lists the possible prices, the best first; dates are compared when a price is asked for. */
function candidatesOf(
  model: string,
  provider: string,
  layers: readonly Layer[],
): readonly PriceEntry[] {
  const { family, priced } = modelSpellings(model, provider);
  const own = (name: string): PriceEntry[] =>
    layers.flatMap((layer) => layer.get(keyOf(provider, name)) ?? []);
  const listed = (name: string): PriceEntry[] =>
    family === null ? [] : builtIn(family, name).map((found) => ({ ...found, provider }));
  return [...priced.flatMap((name) => [...own(name), ...listed(name)]), ...own(ANY)];
}

/** Callers name the model, so inherited members such as "constructor" must not be found. */
function builtIn(family: string, model: string): PriceEntry[] {
  return priceLists
    .filter((list) => list.family === family && Object.hasOwn(list.table, model))
    .flatMap((list) => {
      const price = list.table[model];
      return price === undefined ? [] : [listEntry(list, model, price)];
    })
    .toSorted(latestFirst);
}

function builtInEntries(): PriceEntry[] {
  return priceLists.flatMap((list) =>
    Object.entries(list.table).map(([model, price]) => listEntry(list, model, price)),
  );
}

function listEntry(list: PriceList, model: string, price: Price): PriceEntry {
  const { family, source, checked } = list;
  const provider = providerOfFamily(family);
  return { provider, model, from: startOf(list), price, origin: "built-in", source, checked };
}

/** A price as people and clients see it. */
export interface PriceView extends Price, Omit<PriceEntry, "from" | "price"> {
  /** Since when it counts, RFC 3339; null = always. */
  readonly from: string | null;
}

/** Shows a price, with who says it. */
export function priceView({ from, price, ...entry }: PriceEntry): PriceView {
  return { ...entry, from: from === null ? null : new Date(from).toISOString(), ...price };
}
