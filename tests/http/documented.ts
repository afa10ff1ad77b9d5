import { gunzipSync } from "node:zlib";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { openApi } from "../../core/openapi/document.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Where an account's part of the API begins. */
export const ACCOUNT = "/client/v4/accounts/{account_id}";

/** What an operation is called with. */
export interface Call {
  /** What the names in the path stand for. @default {} */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** The bearer token. @default the operator's */
  readonly token?: string;
  /** The status of a refusal that may come instead, such as of what has ended before. */
  readonly mayRefuse?: number;
}

/** What an answer holds; only its texts are used. */
export type Result = Readonly<Record<string, string>>;

/** Does an operation, compares its answer with the description, and gives what it holds. */
export interface Caller {
  (operation: string, call?: Call): Promise<Result>;
  list(operation: string, call?: Call): Promise<readonly Result[]>;
  text(operation: string, call?: Call): Promise<string>;
}

/** Compares answers with the API's description. */
export interface Documented {
  /** The operations whose answers are JSON of a form that the description knows, as `METHOD /path/{name}`. */
  readonly operations: readonly string[];
  /** Those of them that have no answer but 410. */
  readonly ended: readonly string[];
  /** What is wrong with an answer to an operation; the empty text is nothing. */
  problem(operation: string, status: number, body: unknown): string;
}

/**
 * Compares answers with the description. Objects are taken as closed, so that a field that the description does not
 * name is found, too; clients may not read it so, because a later version may answer more.
 */
export function documented(): Documented {
  // `as`: plain data, made by our own code.
  const document = closed(
    JSON.parse(gunzipSync(Buffer.from(openApi.gzip, "base64")).toString()),
  ) as Fields;
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema(document, "api");
  const checks = new Map<string, ValidateFunction>();
  for (const [path, item] of Object.entries(fields(document["paths"]))) {
    for (const [method, operation] of Object.entries(fields(item))) {
      for (const [status, answer] of Object.entries(fields(fields(operation)["responses"]))) {
        const schema = fields(fields(fields(answer)["content"])["application/json"])["schema"];
        if (status === "default" || Object.keys(fields(schema)).length === 0) continue;
        const pointer = ["paths", path, method, "responses", status, "content", "application/json"];
        const at = [...pointer, "schema"].map(escaped).join("/");
        const key = `${method.toUpperCase()} ${path}`;
        checks.set(`${key} ${status}`, ajv.compile({ $ref: `api#/${at}` }));
      }
    }
  }
  const statuses = Map.groupBy(checks.keys(), (key) => key.replace(/ \d+$/, ""));
  return {
    operations: [...statuses.keys()],
    ended: [...statuses].flatMap(([one, keys]) =>
      keys.every((key) => key.endsWith(" 410")) ? [one] : [],
    ),
    problem(operation, status, body) {
      const check = checks.get(`${operation} ${status}`);
      if (check === undefined) return `${operation} answers ${status}, which is not described`;
      if (check(body)) return "";
      return `${operation}: ${ajv.errorsText(check.errors)} in ${JSON.stringify(body).slice(0, 2000)}`;
    },
  };
}

/** The same schemas, in which an object has no other members than those that are named. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, one]) => [key, closed(one)] as const);
  const isClosed = "type" in value && value.type === "object" && "properties" in value;
  const open = !isClosed || "additionalProperties" in value ? {} : { additionalProperties: false };
  return { ...Object.fromEntries(entries), ...open };
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function escaped(name: string): string {
  return encodeURIComponent(name.replaceAll("~", "~0").replaceAll("/", "~1"));
}
