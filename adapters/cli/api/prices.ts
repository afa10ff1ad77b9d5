import { readFileSync } from "node:fs";
import process from "node:process";
import {
  type PriceBook,
  type PriceView,
  priceBook,
  priceView,
} from "../../../core/gateway/prices/price-book.ts";
import { freeProviders } from "../../../core/gateway/providers/configured/configured-targets.ts";
import { table } from "./output.ts";
import {
  differenceTable,
  parsePriceList,
  type PriceDifference,
  priceDifferences,
} from "./price-check.ts";
import { checkServerUrl, readOptions, subcommand } from "../context/command-options.ts";
import { reach } from "../context/console-link.ts";
import { defaults, effectiveConfig } from "../context/settings.ts";

const PAGE = 100;

/** The text of `causey prices --help`. */
export const pricesHelp: string = `Usage: causey prices [options]
       causey prices check FILE [options]

Prints the prices for costs and spend limits, each with its source, in US dollars per million tokens.
"check" compares them with a list of your own, which has the form of "gateway.prices" in the configuration (JSON). It
prints each figure that differs, and ends with 1 if there is one.

  --provider NAME   Only the prices of a provider, by its name in a request's path
  --model NAME      Only the price of a model, in any spelling; needs --provider
  --config FILE     A configuration file with prices of your own [CAUSEY_CONFIG]
  --url URL         Asks a running server, whose management API may have prices of its own; the token with the
                    permission "AI Gateway Read" is read from CAUSEY_TOKEN
  --account-id ID   The account on that server [CAUSEY_ACCOUNT_ID, else local]
  --json            One JSON object a line
`;

const text = { type: "string" } as const;
const options = {
  provider: text,
  model: text,
  config: text,
  url: text,
  "account-id": text,
  json: { type: "boolean" },
} as const;

/** The filters of `causey prices`. */
interface PricesQuery {
  readonly provider?: string;
  readonly model?: string;
  readonly config?: string;
  readonly url?: string;
  readonly "account-id"?: string;
  readonly json?: boolean;
  /** The file with which prices are compared. */
  readonly check?: string;
}

/** Reads the options; throws one line that says what is wrong. */
export function parsePrices(args: readonly string[]): PricesQuery {
  const { values, positionals } = readOptions(args, options);
  const [word, file, ...more] = positionals;
  if (word !== undefined) {
    subcommand("prices", word, ["check"]);
    if (file === undefined || more.length > 0) throw new TypeError("prices check takes one file");
    for (const name of ["provider", "model", "url"] as const)
      if (values[name] !== undefined)
        throw new TypeError(`prices check takes no --${name}: it compares the whole file`);
  }
  if (values.model !== undefined && values.provider === undefined)
    throw new TypeError("--model needs --provider: several providers sell models of one name");
  checkServerUrl(values.url);
  if (values["account-id"] !== undefined && values.url === undefined)
    throw new TypeError("--account-id needs --url: only a server has prices of an account");
  return file === undefined ? values : { ...values, check: file };
}

/** The book of the configuration's prices and the built-in ones. */
function localBook(
  { config }: Pick<PricesQuery, "config">,
  env: (name: string) => string | undefined,
  readText: (path: string) => string,
): PriceBook {
  const flags = new Map(config === undefined ? [] : [["config", config] as const]);
  const { gateway } = effectiveConfig(flags, env, readText);
  return priceBook({ file: gateway?.prices ?? [], free: freeProviders(gateway ?? {}) });
}

/** Compares the prices of the configuration and the built-in ones with those in a file; see {@link priceDifferences}. */
export function checkedPrices(
  { check: file = "", ...query }: PricesQuery,
  env: (name: string) => string | undefined,
  readText: (path: string) => string,
): PriceDifference[] {
  const list = parsePriceList(file, readText(file));
  return priceDifferences(list, localBook(query, env, readText), Date.now());
}

/** Returns the prices of the configuration and the built-in ones. */
export function localPrices(
  { provider, model, ...query }: PricesQuery,
  env: (name: string) => string | undefined,
  readText: (path: string) => string,
): PriceView[] {
  const book = localBook(query, env, readText);
  if (model !== undefined) {
    const found = book.find(model, provider ?? "", Date.now());
    return found === null ? [] : [priceView(found)];
  }
  const entries = book
    .entries()
    .filter((one) => provider === undefined || one.provider === provider);
  return entries.map(priceView);
}

/** Returns the prices that a running server uses. Throws what it says against that. */
export async function serverPrices(
  { url = "", provider, model, ...query }: PricesQuery,
  env: (name: string) => string | undefined,
): Promise<PriceView[]> {
  const account = query["account-id"] ?? env("CAUSEY_ACCOUNT_ID") ?? defaults.accountId;
  const found: PriceView[] = [];
  for (let page = 1; ; page++) {
    const path = `client/v4/accounts/${encodeURIComponent(account)}/ai-gateway/prices`;
    const address = new URL(path, url.endsWith("/") ? url : `${url}/`);
    address.searchParams.set("page", String(page));
    address.searchParams.set("per_page", String(PAGE));
    if (provider !== undefined) address.searchParams.set("provider", provider);
    if (model !== undefined) address.searchParams.set("model", model);
    const response = await reach(
      new Request(address, {
        headers: { authorization: `Bearer ${env("CAUSEY_TOKEN") ?? ""}` },
        redirect: "manual",
      }),
    );
    // `as`: the server's own listing.
    const answer = (await response.json().catch(() => ({}))) as {
      result?: PriceView[] | null;
      errors?: { message: string }[];
    };
    if (!response.ok || !Array.isArray(answer.result))
      throw new Error(
        `The server answered ${response.status}: ${answer.errors?.[0]?.message ?? "no prices"}`,
      );
    found.push(...answer.result);
    if (answer.result.length < PAGE) return found;
  }
}

/** Formats prices as lines for people. */
export function priceTable(prices: readonly PriceView[]): string {
  const head = ["PROVIDER", "MODEL", "INPUT", "CACHED", "OUTPUT", "FROM", "ORIGIN", "SOURCE"];
  const rows = prices.map((one) => [
    one.provider,
    one.model,
    String(one.input),
    String(one.cached ?? "-"),
    String(one.output),
    one.from?.slice(0, 10) ?? "-",
    one.origin,
    [one.source ?? "-", ...(one.checked === null ? [] : [`(${one.checked})`])].join(" "),
  ]);
  return table(head, rows);
}

/** Runs `causey prices …`; exit code 1 when the model that is asked for has no price, or a list differs. */
export async function pricesCommand(args: readonly string[]): Promise<void> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(pricesHelp);
    return;
  }
  const query = parsePrices(args);
  const env = (name: string): string | undefined => process.env[name];
  const readText = (path: string): string => readFileSync(path, "utf8");
  if (query.check !== undefined) {
    const found = checkedPrices(query, env, readText);
    process.stdout.write(
      query.json === true
        ? found.map((one) => `${JSON.stringify(one)}\n`).join("")
        : found.length === 0
          ? "Every price of the list is the one in use\n"
          : differenceTable(found),
    );
    if (found.length > 0) process.exitCode = 1;
    return;
  }
  const prices =
    query.url === undefined ? localPrices(query, env, readText) : await serverPrices(query, env);
  if (query.model !== undefined && prices.length === 0) {
    process.stderr.write(
      `No price is known of the model "${query.model}" at "${query.provider}"\n`,
    );
    process.exitCode = 1;
    return;
  }
  process.stdout.write(
    query.json === true
      ? prices.map((one) => `${JSON.stringify(one)}\n`).join("")
      : priceTable(prices),
  );
}
