/** A DNS record of the model below. */
export interface DnsRow extends Readonly<Record<string, string>> {
  readonly id: string;
  readonly name: string;
  readonly content: string;
  readonly type: string;
}

type Test = (row: DnsRow) => boolean;

const tests: Readonly<Record<string, (field: string, text: string) => Test>> = {
  contains: (field, text) => (row) => row[field]!.includes(text),
  startswith: (field, text) => (row) => row[field]!.startsWith(text),
  endswith: (field, text) => (row) => row[field]!.endsWith(text),
  exact: (field, text) => (row) => row[field] === text,
};

/** The modern list: each parameter is one test; `match` says whether all or any must hold. */
export function answerModern(query: string, rows: readonly DnsRow[]): DnsRow[] {
  const parameters = [...new URLSearchParams(query)];
  const any = parameters.some(([name, value]) => name === "match" && value === "any");
  const all = parameters
    .filter(([name]) => name !== "match")
    .map(([name, value]): Test => {
      const [field = "", kind = "exact"] = name.split(".");
      return tests[kind]!(field, value);
    });
  if (all.length === 0) return [...rows];
  return rows.filter((row) =>
    any ? all.some((test) => test(row)) : all.every((test) => test(row)),
  );
}

/** The old list: prefixes and comma lists inside the value; all parameters must hold. */
export function answerOld(query: string, rows: readonly DnsRow[]): DnsRow[] {
  const all = [...new URLSearchParams(query)].map(([field, value]): Test => {
    for (const [prefix, kind] of Object.entries({
      contains: "contains",
      starts_with: "startswith",
      ends_with: "endswith",
    })) {
      if (value.startsWith(`${prefix}:`))
        return tests[kind]!(field, value.slice(prefix.length + 1));
    }
    const values = value.split(",").filter((part) => part !== "");
    return (row) => values.includes(row[field]!);
  });
  return rows.filter((row) => all.every((test) => test(row)));
}
