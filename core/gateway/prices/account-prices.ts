import type { System } from "../../ports.ts";
import { jsonText } from "../../http/json.ts";
import type { StoredRecord } from "../account/records/record.ts";
import type { RecordStore } from "../account/records/records.ts";
import { recentMap } from "../../work/recent-map.ts";
import { type OwnPrices, type PriceBook, priceBook } from "./price-book.ts";
import type { PriceRowSetting } from "./price-rows.ts";

/** The parent of an account's price records. */
export const PRICES = "prices";
/** Books that are kept, and for how long after they were read, in ms. */
const BOOKS = 200;
const KEPT_MS = 600_000;

/** The prefix of the version while a price is about to be written: a crash may leave it so. */
const CHANGING = "~";

/** Returns the version of prices of which `change` is about to be written: their book is read for every request. */
export function changingPrices(change: string): string {
  return CHANGING + change;
}

/** Whether a version is one of {@link changingPrices}. */
export function isChanging(version: string | undefined): boolean {
  return version?.startsWith(CHANGING) ?? false;
}

/** The prices of accounts: those of the management API over those of the configuration and the built-in ones. */
export interface AccountPrices {
  /** Without those of the management API. */
  readonly base: PriceBook;
  /** Those of an account as of a version, which a gateway's settings name: they change with every change of a price. */
  of(account: string, version: string): PriceBook | Promise<PriceBook>;
  read(account: string): Promise<PriceBook>;
}

export function accountPrices(
  configured: Pick<OwnPrices, "file" | "free">,
  records: RecordStore,
  system: System,
): AccountPrices {
  const books = recentMap<PriceBook>(BOOKS, KEPT_MS, system);
  const read = async (account: string): Promise<PriceBook> => {
    const found = await records.ofAccount(account).group("price", PRICES);
    return priceBook({ api: found.map(rowOfRecord), ...configured });
  };
  return {
    base: priceBook(configured),
    read,
    of(account, version) {
      if (isChanging(version)) return read(account);
      const key = `${account}\n${version}`;
      const known = books.get(key);
      if (known !== undefined) return known;
      return read(account).then((book) => {
        books.set(key, book);
        return book;
      });
    },
  };
}

const numbers = ["cached", "cacheWrite", "cacheWriteHour", "reasoning"] as const;

function rowOfRecord({ id, body }: StoredRecord): PriceRowSetting & { readonly id: string } {
  const optional = numbers.flatMap((name) => {
    const value = body[name];
    return typeof value === "number" ? [[name, value] as const] : [];
  });
  const { from, source } = body;
  return {
    id,
    provider: jsonText(body["provider"]),
    model: jsonText(body["model"]),
    input: Number(body["input"]),
    output: Number(body["output"]),
    ...Object.fromEntries(optional),
    ...(typeof from === "string" ? { from } : {}),
    ...(typeof source === "string" ? { source } : {}),
  };
}
