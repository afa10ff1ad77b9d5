import { boundedJson, isObject, jsonObject } from "../http/json.ts";
import { JsonUnits } from "../http/json/json-units.ts";
import { copyOf } from "../net/client-address.ts";
import { forPlainJson, inspectResponse } from "./json-body.ts";
import { withQuery } from "./translate/pathname.ts";
import { type FanOutView, type ListedRecord, mergeFanOut } from "./translate/dns-filters.ts";

/** The requests that together have the meaning of one, and the page of their merged answer. */
export interface FanOut {
  readonly queries: readonly string[];
  readonly view: FanOutView;
}

/** Requests under way at once for one fan-out, and in all. */
const LANES = 4;
const REQUESTS = 200;
/** Records of a page that is asked for, and in all. */
const PAGE = 100;
const RECORDS = 10_000;

/** A page that ends the fan-out: a failure of the host, or `null` for lists that cannot be merged here. */
class Ended {
  readonly response: Response | null;
  constructor(response: Response | null) {
    this.response = response;
  }
}

/**
 * Asks for all pages of all lists, a few at once, and merges them; the first failure is the answer. Null if an answer is
 * not a list of records, and for more than 10,000 records or 200 pages.
 */
export async function answerFanOut(
  request: Request,
  { queries, view }: FanOut,
  ask: (request: Request) => Promise<Response>,
): Promise<Response | null> {
  const stop = new AbortController();
  const lists: ListedRecord[][] = [];
  const texts = new Map<string, string>();
  const used = { requests: 0, records: 0 };
  const pageOf = async (query: string, page: number): Promise<Page> => {
    // A host that answers although its client has left would be asked for all that is left.
    request.signal.throwIfAborted();
    if (++used.requests > REQUESTS) throw new Ended(null);
    const read = await readPage(await ask(pageRequest(request, stop.signal, query, page)));
    used.records += read.texts.length;
    if (used.records > RECORDS) throw new Ended(null);
    return read;
  };
  const left = [...queries.entries()];
  const lane = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      const [index, query] = next;
      lists[index] = await wholeList((page) => pageOf(query, page), texts);
    }
  };
  try {
    await Promise.all(Array.from({ length: LANES }, lane));
  } catch (error) {
    left.length = 0;
    stop.abort();
    if (error instanceof Ended) return error.response;
    throw error;
  }
  const { result, result_info } = mergeFanOut(lists, view);
  const records = result.map(({ id }) => texts.get(id) ?? "").join(",");
  const body = `{"result":[${records}],"success":true,"errors":[],"messages":[],"result_info":${JSON.stringify(result_info)}}`;
  return new Response(request.method === "HEAD" ? null : body, {
    headers: { "content-type": "application/json" },
  });
}

interface Page {
  /** The JSON of each record: numbers stay as they came. */
  readonly texts: readonly string[];
  /** Records of all pages; null if the host does not say. */
  readonly total: number | null;
}

/** Reads pages until all records are there, or a page brings no other. */
async function wholeList(
  pageOf: (page: number) => Promise<Page>,
  texts: Map<string, string>,
): Promise<ListedRecord[]> {
  const records = new Map<string, ListedRecord>();
  for (let page = 1; ; page++) {
    const read = await pageOf(page);
    const { size } = records;
    for (const text of read.texts) {
      const record = boundedJson(text);
      if (!isRecord(record)) throw new Ended(null);
      records.set(record.id, record);
      texts.set(record.id, text);
    }
    const isWhole = read.total === null ? false : records.size >= read.total;
    if (isWhole || records.size === size) return [...records.values()];
  }
}

async function readPage(response: Response): Promise<Page> {
  if (!response.ok) throw new Ended(response);
  const inspected = await inspectResponse(response);
  const json = jsonObject(inspected?.json);
  if (!Array.isArray(json["result"])) throw new Ended(null);
  const texts: string[] = [];
  const units = new JsonUnits(({ name, isElement, text }) => {
    if (name === "result" && isElement) texts.push(text);
    return text;
  });
  units.push(inspected?.text ?? "");
  units.end();
  const { total_count: total } = jsonObject(json["result_info"]);
  return { texts, total: typeof total === "number" ? total : null };
}

function isRecord(value: unknown): value is ListedRecord {
  return isObject(value) && typeof value["id"] === "string";
}

function pageRequest(request: Request, signal: AbortSignal, query: string, page: number): Request {
  const headers = forPlainJson(request.headers);
  const url = withQuery(request.url, `${query}&page=${page}&per_page=${PAGE}`);
  const both = AbortSignal.any([signal, request.signal]);
  return copyOf(request, new Request(url, { headers, signal: both }));
}
