import { readFileSync, writeFileSync } from "node:fs";
import { extname } from "node:path";
import process from "node:process";
import { choiceHint } from "../../../core/text/nearest.ts";
import { commandFailure, readOptions } from "../context/command-options.ts";
import {
  apiClient,
  type ApiClient,
  printNotes,
  serverHelp,
  serverOptions,
  settingsOf,
} from "./api-client.ts";
import { size } from "./progress.ts";

const help = `Usage: causey render URL|FILE [--as FORM] [-o FILE] [--set NAME=VALUE …]

Renders a page by a running server: an address, or a file of HTML; "-" reads HTML from standard input.

  --as FORM          pdf, png, jpeg, webp, markdown, html, links or accessibility [by the name of -o, else markdown]
  -o, --out FILE     The file to write; PDFs and pictures are not written to a terminal [standard output]
  --set NAME=VALUE   A field of the request by its name in the API; the value is JSON, else text:
                     --set 'viewport={"width":800,"height":600}'; may be given several times
${serverHelp}`;

/** The route of each form, and what it needs to be asked for. */
const forms = {
  pdf: { route: "pdf", isBinary: true },
  png: { route: "screenshot", isBinary: true },
  jpeg: { route: "screenshot", isBinary: true },
  webp: { route: "screenshot", isBinary: true },
  markdown: { route: "markdown", isBinary: false },
  html: { route: "content", isBinary: false },
  links: { route: "links", isBinary: false },
  accessibility: { route: "accessibilityTree", isBinary: false },
} as const;
type Form = keyof typeof forms;

const byExtension: Readonly<Record<string, Form>> = {
  ".pdf": "pdf",
  ".png": "png",
  ".jpg": "jpeg",
  ".jpeg": "jpeg",
  ".webp": "webp",
  ".md": "markdown",
  ".html": "html",
  ".htm": "html",
};
/** Milliseconds that a page may take: somewhat more than the server gives it. */
const RENDER_MS = 200_000;

/** Runs `causey render`. */
export async function renderCommand(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions(args, {
    ...serverOptions,
    as: { type: "string" },
    out: { type: "string", short: "o" },
    set: { type: "string", multiple: true },
  });
  if (values.help === true || args.length === 0) return void process.stdout.write(help);
  const [page = "", ...more] = positionals;
  if (page === "" || more.length > 0)
    throw new TypeError("causey render needs one address, or one file of HTML");
  const form = formOf(values.as, values.out);
  const { isBinary } = forms[form];
  const isJson = values.json === true;
  if (isBinary && values.out === undefined && (isJson || process.stdout.isTTY))
    throw new TypeError(`causey render --as ${form} needs -o FILE`);
  const settings = settingsOf(values.set ?? []);
  const api = apiClient(values);
  const began = performance.now();
  const bytes = await render(api, form, { ...sourceOf(page), ...settings }, isJson && !isBinary);
  if (values.out === undefined) return writeOut(bytes);
  writeFileSync(values.out, bytes);
  const ms = Math.round(performance.now() - began);
  if (isJson) writeOut(`${JSON.stringify({ file: values.out, form, bytes: bytes.length, ms })}\n`);
  else
    process.stderr.write(`${values.out}: ${size(bytes.length)} in ${(ms / 1000).toFixed(1)} s\n`);
}

async function render(
  api: ApiClient,
  form: Form,
  fields: Readonly<Record<string, unknown>>,
  isJson: boolean,
): Promise<Uint8Array> {
  const { route, isBinary } = forms[form];
  const json =
    route === "screenshot"
      ? { ...fields, screenshotOptions: { ...Object(fields["screenshotOptions"]), type: form } }
      : fields;
  const path = `/browser-rendering/${route}`;
  const question = { method: "POST", json, deadline: RENDER_MS };
  if (isBinary) return new Uint8Array(await (await api.send(path, question)).arrayBuffer());
  const { result, notes } = await api.ask<unknown>(path, question);
  printNotes(notes);
  if (isJson) return utf8(`${JSON.stringify(result)}\n`);
  if (typeof result === "string") return utf8(result.endsWith("\n") ? result : `${result}\n`);
  // Links are lines.
  return Array.isArray(result) && result.every((one) => typeof one === "string")
    ? utf8(result.map((one) => `${one}\n`).join(""))
    : utf8(`${JSON.stringify(result, null, 2)}\n`);
}

function formOf(given: string | undefined, out: string | undefined): Form {
  if (given === undefined) return byExtension[extname(out ?? "").toLowerCase()] ?? "markdown";
  const names = Object.keys(forms);
  const form = Object.keys(forms).find((one): one is Form => one === given);
  if (form !== undefined) return form;
  throw new TypeError(`--as: there is no form "${given}"${choiceHint(given, names)}`);
}

function sourceOf(page: string): { readonly url: string } | { readonly html: string } {
  if (/^https?:\/\//iu.test(page)) return { url: page };
  try {
    return { html: readFileSync(page === "-" ? 0 : page, "utf8") };
  } catch {
    throw commandFailure(
      `There is no file "${page}"`,
      "An address begins with http:// or https://",
    );
  }
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function writeOut(bytes: Uint8Array | string): void {
  process.stdout.write(bytes);
}
