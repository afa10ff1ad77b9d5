import { isObject } from "../../http/json.ts";
/** The members of a DNS record that this rewrite reads. */
export type DnsRecord = Readonly<Record<string, unknown>>;

/** The parts of the name of an SRV record. */
export interface SrvName {
  /** The service, with its underscore, e.g. `_sip`. */
  readonly service: string;
  readonly proto: string;
  /** The domain below. */
  readonly name: string;
}

/**
 * Splits `_service._proto.domain`; null when the name has another form.
 *
 * @example
 * ```ts
 * import { splitSrvName } from "causey/deprecations";
 *
 * splitSrvName("_sip._tcp.example.com")?.service; // → "_sip"
 * ```
 */
export function splitSrvName(name: string): SrvName | null {
  const match = /^(_[^.]+)\.(_[^.]+)\.(.+)$/.exec(name);
  const [, service = "", proto = "", rest = ""] = match ?? [];
  return match === null ? null : { service, proto, name: rest };
}

/**
 * Modern response to old: an SRV record gets `data.service`, `data.proto`, `data.name` from its outer name; others stay.
 *
 * @example
 * ```ts
 * import { addSrvData } from "causey/deprecations";
 *
 * const record = { type: "SRV", name: "_sip._tcp.example.com", data: { port: 5060 } };
 * addSrvData(record)["data"]; // → { port: 5060, service: "_sip", proto: "_tcp", name: "example.com" }
 * ```
 */
export function addSrvData(record: DnsRecord): DnsRecord {
  const { type, name, data } = record;
  if (type !== "SRV" || typeof name !== "string") return record;
  const parts = splitSrvName(name);
  return parts === null ? record : { ...record, data: { ...dataOf(data), ...parts } };
}

/**
 * Old request to modern: an SRV record loses `data.service`, `data.proto` and `data.name`; when it has no outer name
 * (as SDK 3.0.0 may send it) they make one. A record without a type is left alone, because it may be of another type.
 *
 * @example
 * ```ts
 * import { dropSrvData } from "causey/deprecations";
 *
 * const data = { service: "_sip", proto: "_tcp", name: "example.com", port: 5060 };
 * dropSrvData({ type: "SRV", data })["name"]; // → "_sip._tcp.example.com"
 * ```
 */
export function dropSrvData(record: DnsRecord): DnsRecord {
  if (!hasSrvData(record)) return record;
  const { service, proto, name, ...data } = dataOf(record["data"]);
  const parts = [service, proto, name].filter((part) => typeof part === "string");
  const outer = record["name"] === undefined && parts.length === 3 ? { name: parts.join(".") } : {};
  return { ...record, ...outer, data };
}

/**
 * Whether an SRV record carries one of the three fields.
 *
 * @example
 * ```ts
 * import { hasSrvData } from "causey/deprecations";
 *
 * hasSrvData({ type: "SRV", data: { service: "_sip" } }); // → true
 * ```
 */
export function hasSrvData(record: DnsRecord): boolean {
  const data = dataOf(record["data"]);
  return (
    record["type"] === "SRV" &&
    ["service", "proto", "name"].some((field) => Object.hasOwn(data, field))
  );
}

function dataOf(data: unknown): Readonly<Record<string, unknown>> {
  return isObject(data) ? { ...data } : {};
}
