/** A metric family of an exposition. */
export interface Family {
  readonly type: string;
  readonly help: string;
  /** Values by `name{label="value",…}`, labels in alphabetical order, values as they are. */
  readonly samples: ReadonlyMap<string, number>;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/gy;
const VALUE = /^(?:\+Inf|\d+(?:\.\d+)?(?:e[+-]\d+)?)$/;

/** The suffixes of the samples of each type; in OpenMetrics counters have one too. */
const suffixes: Readonly<Record<string, readonly string[]>> = {
  counter: [""],
  gauge: [""],
  histogram: ["_bucket", "_sum", "_count"],
};

/**
 * Reads an exposition as strictly as the formats allow: throws for a line that is none, a family that comes twice or
 * is interrupted, a sample without its family or given twice, a histogram that does not add up.
 */
export function parseExposition(text: string, openMetrics = false): Map<string, Family> {
  const lines = text.split("\n");
  if (lines.pop() !== "") throw new Error("The last line has no line feed");
  if (openMetrics && lines.pop() !== "# EOF") throw new Error("The last line is not # EOF");
  const families = new Map<string, { type: string; help: string; samples: Map<string, number> }>();
  let help: [string, string] | null = null;
  let current = "";
  for (const line of lines) {
    const [hash, keyword, name = "", ...rest] = line.split(" ");
    if (hash === "#" && keyword === "HELP") {
      if (families.has(name)) throw new Error(`Twice: ${line}`);
      help = [name, rest.join(" ")];
    } else if (hash === "#" && keyword === "TYPE") {
      if (help?.[0] !== name || rest.length !== 1) throw new Error(`Unexpected: ${line}`);
      const type = rest[0] ?? "";
      if (suffixes[type] === undefined) throw new Error(`Unknown type: ${line}`);
      if (type === "counter" && name.endsWith("_total") === openMetrics)
        throw new Error(`Name of a counter: ${line}`);
      families.set(name, { type, help: help[1], samples: new Map() });
      current = name;
    } else {
      const family = families.get(current);
      if (family === undefined) throw new Error(`Without a family: ${line}`);
      const [key, value] = sampleOf(line, current, family.type, openMetrics);
      if (family.samples.has(key)) throw new Error(`Twice: ${line}`);
      family.samples.set(key, value);
    }
  }
  for (const family of families.values()) if (family.type === "histogram") checkHistogram(family);
  return families;
}

function sampleOf(
  line: string,
  family: string,
  type: string,
  openMetrics: boolean,
): [string, number] {
  const [, name = "", labels, value = ""] = LINE.exec(line) ?? [];
  const allowed = openMetrics && type === "counter" ? ["_total"] : (suffixes[type] ?? []);
  if (!allowed.some((suffix) => name === family + suffix)) throw new Error(`Not of it: ${line}`);
  if (!VALUE.test(value)) throw new Error(`No value: ${line}`);
  return [nameOf(name, labelsOf(labels ?? "", line)), Number(value.replace("+Inf", "Infinity"))];
}

function labelsOf(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let end = 0;
  for (const match of text.matchAll(LABEL)) {
    const [all, name = "", value = ""] = match;
    if (name in labels) throw new Error(`A label twice: ${line}`);
    labels[name] = value.replaceAll(/\\(["\\n])/g, (_, one: string) => (one === "n" ? "\n" : one));
    end += all.length;
  }
  if (end !== text.length) throw new Error(`No labels: ${line}`);
  return labels;
}

/** How {@link Family.samples} names a sample. */
export function nameOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.keys(labels)
    .toSorted()
    .map((label) => `${label}="${labels[label]}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(",")}}`;
}

/** Buckets grow with their bounds, and the last one has all. */
function checkHistogram({ samples }: Pick<Family, "samples">): void {
  const last = new Map<string, [bound: number, value: number]>();
  for (const [key, value] of samples) {
    const le = /,?le="([^"]+)"/.exec(key);
    const name = key.replace(le?.[0] ?? "", "").replace("{,", "{");
    if (le !== null) {
      const bound = Number(le[1]?.replace("+Inf", "Infinity"));
      const [lower, less] = last.get(name) ?? [Number.NEGATIVE_INFINITY, 0];
      if (!(bound > lower) || value < less) throw new Error(`Not in order: ${key}`);
      last.set(name, [bound, value]);
    } else if (/_count(?:\{|$)/.test(key)) {
      const [bound, all] = last.get(key.replace("_count", "_bucket")) ?? [];
      if (bound !== Infinity || all !== value) throw new Error(`Not all are in a bucket: ${key}`);
    }
  }
}
