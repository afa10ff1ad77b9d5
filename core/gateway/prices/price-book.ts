import { BoundedMap } from "../../work/bounded-map.ts";
import { modelSpellings, plainName, providerOfFamily } from "./model-spellings.ts";
import type { Price } from "./price.ts";
import { type PriceRowSetting, priceOfRow, startOf } from "./price-rows.ts";
import { priceLists } from "./prices.ts";
import { isRegional, regionalPrice } from "./regional.ts";

/** The source of a price; an earlier one outranks a later one. */
export type PriceOrigin = "api" | "file" | "built-in";

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

export interface PriceBook {
  /**
   * The price of a model at a provider (a path segment) at `now` (Unix ms); null = not known, nothing is guessed. The path
   * behind the provider (`rest`) can name a region with a price of its own. @default no region
   */
  find(model: string, provider: string, now: number, rest?: string): PriceEntry | null;
  /** Whether every request to a provider costs nothing, whatever its model. */
  isFree(provider: string): boolean;
  /** Every price, those to come and those of before included. */
  entries(): PriceEntry[];
}

/** The rows that operators give, by who gave them. */
export interface OwnPrices {
  readonly api?: readonly (PriceRowSetting & { readonly id?: string })[];
  readonly file?: readonly PriceRowSetting[];
  /** Path segments of providers whose models cost nothing, but for those with a row. */
  readonly free?: readonly string[];
}

/** The wildcard for the models of a provider that have no price of their own. */
const ANY = "*";
/** Models whose rows are remembered: callers name them, so their number is bounded. */
const REMEMBERED = 1000;

/**
 * Makes a book of the built-in prices with those of operators over them. The most specific name decides first (a snapshot,
 * its model, `*`), then who says it, then the latest date that has come.
 */
export function priceBook({ api = [], file = [], free = [] }: OwnPrices = {}): PriceBook {
  const priced = new Set(
    [...api, ...file].filter((row) => !isNothing(row)).map((row) => row.provider.toLowerCase()),
  );
  const whollyFree = new Set(free.filter((provider) => !priced.has(provider.toLowerCase())));
  const nothing = free.map((provider) => ({ provider, model: ANY, input: 0, output: 0 }));
  const layers = [
    byModel(api.map((row) => entryOf(row, "api"))),
    byModel(file.map((row) => entryOf(row, "file"))),
    byModel(nothing.map((row) => entryOf(row, "file"))),
  ];
  const known = new BoundedMap<string, readonly PriceEntry[]>(REMEMBERED);
  const candidates = (model: string, provider: string, rest: string): readonly PriceEntry[] => {
    const inRegion = isRegional(model, provider, rest);
    const key = `${provider}\n${inRegion ? "regional" : ""}\n${model}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const listed = candidatesOf(model, provider, layers);
    const all = inRegion
      ? listed.map((entry) => ({ ...entry, price: regionalPrice(entry.price) }))
      : listed;
    known.set(key, all);
    return all;
  };
  return {
    find(model, provider, now, rest = "") {
      if (model === "") return null;
      const all = candidates(model, provider, rest);
      return all.find(({ from }) => from === null || from <= now) ?? null;
    },
    isFree: (provider) => whollyFree.has(provider),
    entries: () => [...layers.flatMap((layer) => [...layer.values()].flat()), ...builtIn],
  };
}

/** Whether no kind of token costs anything. */
function isNothing(row: PriceRowSetting): boolean {
  return Object.values(priceOfRow(row)).every((amount) => amount === 0);
}

type Layer = ReadonlyMap<string, readonly PriceEntry[]>;

/** Returns the prices of one origin by provider and model, the latest first. */
function byModel(entries: readonly PriceEntry[]): Layer {
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
  const author = family === null ? null : providerOfFamily(family);
  const listed = (name: string): PriceEntry[] => {
    const found = author === null ? [] : (builtInLayer.get(keyOf(author, name)) ?? []);
    return found.map((entry) => ({ ...entry, provider }));
  };
  return [...priced.flatMap((name) => [...own(name), ...listed(name)]), ...own(ANY)];
}

/** The built-in prices, each at the provider whose own list it is on. */
const builtIn: readonly PriceEntry[] = priceLists.flatMap((list) => {
  const { family, models, source, checked, flex } = list;
  const provider = providerOfFamily(family);
  const from = startOf(list);
  return models.map(({ model, ...price }) => ({
    provider,
    model,
    from,
    price: flex === undefined ? price : { ...price, flex },
    origin: "built-in",
    source,
    checked,
  }));
});
const builtInLayer = byModel(builtIn);

/** A price as people and clients see it. */
export interface PriceView extends Price, Omit<PriceEntry, "from" | "price"> {
  /** Since when it counts, RFC 3339; null = always. */
  readonly from: string | null;
}

export function priceView({ from, price, ...entry }: PriceEntry): PriceView {
  return { ...entry, from: from === null ? null : new Date(from).toISOString(), ...price };
}
