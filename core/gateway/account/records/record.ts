import { ApiError } from "../../../http/api-error.ts";
import type { System } from "../../../ports.ts";
import { jsonText, type Value } from "../../../http/json.ts";

/** The kinds of records; an account or a gateway can have several of each. */
export type Collection =
  | "provider_config"
  | "custom_provider"
  | "dataset"
  | "evaluation"
  | "route"
  | "version"
  | "deployment"
  | "price";

export type StoredRecord = {
  readonly collection: Collection;
  readonly id: string;
  /** The slug of the provider, or the id of the route, that it belongs to. Empty = none. */
  readonly parent: string;
  /** Unique within its collection. */
  readonly key: string;
  readonly body: { readonly [key: string]: Value };
  /** Unix ms. */
  readonly createdAt: number;
  /** Unix ms. */
  readonly modifiedAt: number;
};

export type RecordName = { readonly collection: Collection; readonly id: string };

/** Most records of a collection (of one parent, where records have one): listings stay cheap. */
export const recordLimits: Readonly<Record<Collection, number>> = {
  provider_config: 100,
  custom_provider: 200,
  dataset: 500,
  evaluation: 500,
  route: 200,
  version: 101,
  deployment: 101,
  price: 2000,
};

export interface RecordDraft extends Pick<StoredRecord, "collection" | "body"> {
  /** @default one of the system's */
  readonly id?: string;
  /** @default "" */
  readonly parent?: string;
  /** @default the id */
  readonly key?: string;
}

/** A record that was made just now, and is not written yet. */
export function newRecord(draft: RecordDraft, system: System): StoredRecord {
  const { id = system.id(), parent = "", key = id } = draft;
  const now = system.now();
  return { ...draft, id, parent, key, createdAt: now, modifiedAt: now };
}

/** When a record was made and changed, as clients see it. */
export function recordTimes({ createdAt, modifiedAt }: StoredRecord): {
  created_at: string;
  modified_at: string;
} {
  return {
    created_at: new Date(createdAt).toISOString(),
    modified_at: new Date(modifiedAt).toISOString(),
  };
}

/** A gateway's record as clients see it, all of its body included. */
export function recordView(gateway: string, record: StoredRecord): Record<string, Value> {
  const { id, body } = record;
  return { id, gateway_id: gateway, ...body, ...recordTimes(record) };
}

export type RecordQuery = {
  readonly collection: Collection;
  /** @default every parent */
  readonly parent?: string | undefined;
  /** Part of one of `searchIn`, letter case ignored. @default "" */
  readonly search?: string | undefined;
  /** Members of the body that `search` looks at, beside the id. @default [] */
  readonly searchIn?: readonly string[] | undefined;
  /** Members of the body that must have these values. @default {} */
  readonly where?: { readonly [member: string]: string | number | boolean } | undefined;
  /** Members of the body to order by. @default newest first */
  readonly orderBy?: readonly string[] | undefined;
};

export type RecordPage = { readonly records: StoredRecord[]; readonly total: number };

/** The records that a query asks for, in its order. */
export function selectRecords(
  records: readonly StoredRecord[],
  { search = "", searchIn = [], where = {}, orderBy = [] }: RecordQuery,
): StoredRecord[] {
  const wanted = search.toLowerCase();
  return records
    .filter(({ id, body }) => {
      const texts = [id, ...searchIn.flatMap((member) => leaves(body[member]))];
      if (wanted !== "" && !texts.some((text) => text.toLowerCase().includes(wanted))) return false;
      return Object.entries(where).every(([member, value]) => (body[member] ?? false) === value);
    })
    .toSorted((a, b) => byMembers(a, b, orderBy) || b.createdAt - a.createdAt || order(a.id, b.id));
}

/** A plain value as text, and those within any other. */
function leaves(value: Value): string[] {
  return typeof value === "object" && value !== null
    ? Object.values(value).flatMap(leaves)
    : [String(value ?? "")];
}

function byMembers(a: StoredRecord, b: StoredRecord, members: readonly string[]): number {
  for (const member of members) {
    const difference = order(a.body[member] ?? 0, b.body[member] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Plain code-unit order: the same on every runtime, unlike a locale's. */
function order(a: Value, b: Value): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  const [left, right] = [jsonText(a), jsonText(b)];
  return left < right ? -1 : left > right ? 1 : 0;
}

export function noRecord({ collection, id }: RecordName): ApiError {
  return new ApiError("not_found", {
    message: `There is no ${collection.replace("_", " ")} "${id.slice(0, 64)}" here`,
  });
}
