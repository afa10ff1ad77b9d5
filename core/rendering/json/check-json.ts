import { ApiError } from "../../http/api-error.ts";
import { parseJson } from "../../http/fields/body.ts";
import { isObject } from "../../http/json.ts";
import { utf8 } from "../../crypto/encoding.ts";
import type { LongTask, Plain } from "../../ports.ts";

/** A model's answer, and the JSON Schema that it has to fit. */
export type JsonCheck = {
  readonly text: string;
  /** As JSON; null for any object or array. */
  readonly schema: string | null;
};

/** A checked answer: its value, or the fault in it. */
export type CheckedJson = {
  /** The value as JSON; null when something is wrong. */
  readonly json: string | null;
  readonly problems: readonly string[];
};

/** Reads of schema and document during one check, a tenth of a second at most. */
const READS = 1_000_000;
const PROBLEMS = 10;

/** Finds the JSON in a model's answer, and checks it against a schema of draft 2020-12. */
export const checkJson: LongTask<JsonCheck, CheckedJson> = {
  name: "rendering/check-json",
  async load() {
    const { dereference, validate } = await import("@cfworker/json-schema");
    const { withoutPatterns } = await import("./schema-patterns.ts");
    return function* ({ text, schema }) {
      const value = jsonIn(text);
      if (value === undefined) return wrong(["The answer is not JSON"]);
      yield;
      if (schema === null)
        return typeof value === "object" && value !== null
          ? { json: JSON.stringify(value), problems: [] }
          : wrong(["The answer is neither an object nor an array"]);
      const given: unknown = JSON.parse(schema);
      const strings = stringsOf(value);
      const plain = yield* withoutPatterns(isObject(given) ? given : {}, strings);
      yield;
      try {
        const longest = [...strings].reduce((most, one) => Math.max(most, one.length), 0);
        const meter = { left: READS, textCost: 1 + (longest >> 4) };
        const lookup = dereference(plain);
        const result = validate(
          metered(value, meter),
          metered(plain, meter),
          "2020-12",
          metered(lookup, meter),
        );
        if (result.valid) return { json: JSON.stringify(value), problems: [] };
        const problems = result.errors.toReversed().slice(0, PROBLEMS);
        return wrong(
          problems.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`),
        );
      } catch (error) {
        throw schemaProblem(error);
      }
    };
  },
};

function wrong(problems: readonly string[]): CheckedJson {
  return { json: null, problems: problems.map((one) => one.slice(0, 300)) };
}

function schemaProblem(error: unknown): ApiError {
  const text =
    error instanceof TooMuchWork || error instanceof RangeError
      ? "checking the answer against it takes too long"
      : (error instanceof Error ? error.message : String(error)).split("\n", 1)[0];
  return new ApiError("invalid_request", {
    message: `response_format.json_schema: ${text?.slice(0, 200) ?? ""}`,
    cause: error,
  });
}

/** Finds the JSON of an answer, also in a code block or among words; undefined without any. */
function jsonIn(text: string): Plain | undefined {
  const fenced = /```(?:json)?\s*\n([\s\S]*?)```/u.exec(text)?.[1];
  const first = text.search(/[[{]/u);
  const last = Math.max(text.lastIndexOf("}"), text.lastIndexOf("]"));
  for (const part of [text, fenced, first === -1 ? undefined : text.slice(first, last + 1)]) {
    if (part === undefined) continue;
    try {
      return parseJson(utf8(part)) as Plain;
    } catch {
      // The next part may be it.
    }
  }
  return undefined;
}

/** Lists every string and every name in a document. */
function stringsOf(value: Plain): Set<string> {
  const found = new Set<string>();
  const left: unknown[] = [value];
  for (let one = left.pop(); one !== undefined; one = left.pop()) {
    if (typeof one === "string") found.add(one);
    else if (Array.isArray(one)) for (const entry of one) left.push(entry);
    else if (isObject(one))
      for (const [name, entry] of Object.entries(one)) {
        found.add(name);
        left.push(entry);
      }
  }
  return found;
}

/** Thrown by what {@link metered} made when it has been read too often. */
class TooMuchWork extends Error {}

/** Counts reads. */
interface ReadMeter {
  left: number;
  /** The cost of reading a keyword that measures a text: the validator walks through the text each time. */
  readonly textCost: number;
}

/**
 * Returns the same value, whose reads are counted. A small schema can ask for work that grows exponentially with the
 * document (`$ref` twice in a cycle, `uniqueItems` in `uniqueItems`), and a validator has no bound of its own.
 */
function metered<T>(value: T, meter: ReadMeter): T {
  if (typeof value !== "object" || value === null) return value;
  return new Proxy(value, {
    get(target, key) {
      const read: unknown = Reflect.get(target, key);
      const walks = (key === "minLength" || key === "maxLength") && read !== undefined;
      spend(meter, walks ? meter.textCost : typeof read === "string" ? 1 + (read.length >> 4) : 1);
      return metered(read, meter);
    },
    ownKeys(target) {
      const keys = Reflect.ownKeys(target);
      spend(meter, keys.length);
      return keys;
    },
  });
}

function spend(meter: ReadMeter, reads: number): void {
  meter.left -= reads;
  if (meter.left < 0) throw new TooMuchWork();
}
