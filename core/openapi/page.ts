import { escapeHtml } from "../text/escape-html.ts";
import { sha256 } from "../crypto/digest.ts";
import { toBase64 } from "../crypto/encoding.ts";
import { isObject } from "../http/json.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Writes the page that shows a description of the API: one file without a script. */
export function descriptionPage(description: unknown): string {
  const document = fields(description);
  const paths = fields(document["paths"]);
  const all = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(fields(item)).map(([method, operation]) => ({
      path,
      method,
      operation: fields(operation),
    })),
  );
  const schemas = fields(fields(document["components"])["schemas"]);
  const tags = list(document["tags"]).map((tag) => text(fields(tag)["name"]));
  const sections = tags.map((tag) => {
    const own = all.filter(({ operation }) => list(operation["tags"]).includes(tag));
    const entries = own.map((one) => entryOf(one, schemas)).join("");
    return `<section id="${idOf(tag)}"><h2>${escapeHtml(tag)}</h2>${entries}</section>`;
  });
  const links = tags
    .map((tag) => `<li><a href="#${idOf(tag)}">${escapeHtml(tag)}</a></li>`)
    .join("");
  const info = fields(document["info"]);
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">',
    `<title>causey API</title><link rel="icon" href="data:,"><style>${STYLE}</style></head><body>`,
    `<header><h1>causey API <small>${escapeHtml(text(info["version"]))}</small></h1><p>${escapeHtml(text(info["description"]))}</p>`,
    '<p>Requests carry <code>Authorization: Bearer TOKEN</code>. For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1).</p>',
    `<nav aria-label="Parts"><ul>${links}</ul></nav></header><main>${sections.join("")}</main></body></html>\n`,
  ].join("\n");
}

/** Returns the source of the style for a Content-Security-Policy. */
export async function styleHash(): Promise<string> {
  return `sha256-${toBase64(await sha256(STYLE))}`;
}

interface Entry {
  readonly path: string;
  readonly method: string;
  readonly operation: Fields;
}

function entryOf({ path, method, operation }: Entry, schemas: Fields): string {
  const parameters = list(operation["parameters"]).map(fields);
  const content = fields(fields(operation["requestBody"])["content"]);
  const media = fields(Object.values(content)[0]);
  const { schema, example } = media;
  const name = /\/(\w+)$/.exec(text(fields(schema)["$ref"]))?.[1];
  const body = name === undefined ? fields(schema) : fields(schemas[name]);
  const rows = [
    ...parameters.map((one) =>
      row(text(one["name"]), text(one["in"]), one["required"] === true, ""),
    ),
    ...bodyRows(body),
  ];
  const answers = Object.entries(fields(operation["responses"])).map(([status, answer]) => {
    const types = Object.keys(fields(fields(answer)["content"]));
    const what = text(fields(answer)["description"]);
    return status === "default"
      ? ""
      : `<p>${status}: ${escapeHtml([what, ...types].join(", "))}</p>`;
  });
  const found = answerRows(fields(operation["responses"]), schemas);
  return [
    `<details><summary><code class="method">${method.toUpperCase()}</code> <code>${escapeHtml(path)}</code> <span>${escapeHtml(text(operation["summary"]))}</span></summary>`,
    tableOf(rows),
    example === undefined ? "" : `<pre>${escapeHtml(curlOf(method, path, example))}</pre>`,
    answers.join(""),
    tableOf(found),
    "</details>",
  ].join("");
}

function tableOf(rows: readonly string[]): string {
  if (rows.length === 0) return "";
  return `<div class="scroll"><table><thead><tr><th>Name</th><th>In</th><th>Type</th></tr></thead><tbody>${rows.join("")}</tbody></table></div>`;
}

/** Lists the fields of an operation's answer: of the result in the envelope, of each item of a list. */
function answerRows(responses: Fields, schemas: Fields): string[] {
  const [success] = Object.values(responses).map(fields);
  const { schema } = fields(fields(success?.["content"])["application/json"]);
  const { properties, ...whole } = fields(schema);
  const result = properties === undefined ? whole : fields(fields(properties)["result"]);
  const isList = result["type"] === "array";
  const item = isList ? fields(result["items"]) : result;
  const name = /\/(\w+)$/.exec(text(item["$ref"]))?.[1] ?? "";
  const found = fields(schemas[name]);
  const place = isList ? "result[]" : properties === undefined ? "answer" : "result";
  const rows = fieldRows(found, place);
  return rows.length > 0 || name === "" ? rows : [row(place, "answer", false, typeOf(found))];
}

function bodyRows(schema: Fields): string[] {
  const required = list(schema["required"]);
  return Object.entries(fields(schema["properties"])).map(([name, one]) =>
    row(name, "body", required.includes(name), typeOf(fields(one))),
  );
}

function fieldRows(schema: Fields, place: string): string[] {
  return Object.entries(fields(schema["properties"])).map(([name, one]) =>
    row(name, place, false, typeOf(fields(one))),
  );
}

function row(name: string, place: string, isRequired: boolean, type: string): string {
  const mark = isRequired ? " <em>required</em>" : "";
  return `<tr><td><code>${escapeHtml(name)}</code>${mark}</td><td>${escapeHtml(place)}</td><td>${escapeHtml(type)}</td></tr>`;
}

/** Describes a schema in few words. */
function typeOf(schema: Fields): string {
  const options = list(schema["anyOf"] ?? schema["oneOf"]).map((one) => typeOf(fields(one)));
  if (options.length > 0) return [...new Set(options)].join(" or ");
  if (Array.isArray(schema["enum"]))
    return schema["enum"].map((one) => JSON.stringify(one)).join(" | ");
  if ("const" in schema) return JSON.stringify(schema["const"]);
  const { minimum, maximum } = schema;
  const bounds =
    minimum === undefined && maximum === undefined ? "" : ` ${text(minimum)}…${text(maximum)}`;
  const inner = schema["type"] === "array" ? ` of ${typeOf(fields(schema["items"]))}` : "";
  const names = Object.keys(fields(schema["properties"]));
  const members = names.length > 0 && names.length <= 12 ? ` {${names.join(", ")}}` : "";
  return `${text(schema["type"]) || "anything"}${bounds}${inner}${members}`;
}

function curlOf(method: string, path: string, example: unknown): string {
  return `curl -X ${method.toUpperCase()} "$CAUSEY_URL${path}" \\
  -H "Authorization: Bearer $CAUSEY_TOKEN" -H 'Content-Type: application/json' \\
  -d '${JSON.stringify(example, null, 2)}'`;
}

function idOf(tag: string): string {
  return tag.toLowerCase().replaceAll(" ", "-");
}

function fields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function text(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

const STYLE = `
:root{--page:#fff;--text:#16191f;--muted:#56606e;--line:#dfe3e9;--soft:#f4f6f8;--accent:#2456c8}
@media (prefers-color-scheme:dark){:root{--page:#101216;--text:#e8ebf0;--muted:#a2abb8;--line:#2c323c;--soft:#181b21;--accent:#86aaff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1000px;padding:1rem;background:var(--page);color:var(--text);font:15px/1.5 system-ui,sans-serif}
small,span,em{color:var(--muted);font-style:normal}
a{color:var(--accent)}
nav ul{display:flex;flex-wrap:wrap;gap:.3rem 1rem;padding:0;list-style:none}
details{border-bottom:1px solid var(--line);padding:.4rem 0}
summary{cursor:pointer;overflow-wrap:anywhere}
.method{display:inline-block;min-width:4.2rem;font-weight:600;color:var(--accent)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;margin:.5rem 0;font-size:.9rem}
th,td{text-align:left;vertical-align:top;padding:.25rem .8rem .25rem 0}
th{color:var(--muted);font-weight:400}
p{overflow-wrap:anywhere}
td{max-width:32rem;overflow-wrap:break-word}
pre{background:var(--soft);padding:.7rem;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:.85rem}
`;
