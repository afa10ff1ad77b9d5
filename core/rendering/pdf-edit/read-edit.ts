import { fromBase64, utf8 } from "../../crypto/encoding.ts";
import { invalidRequest } from "../../http/api-error.ts";
import { readJsonBytes, refuseUnknown } from "../../http/fields/body.ts";
import { isMultipart, readFiles } from "../../http/fields/read-form.ts";
import { editSchema, type PdfEdit } from "./edit-schema.ts";
import type { RefuseField } from "./library.ts";
import { type EditRequest, RENDERED } from "./pdf-editor.ts";

/** The options of an edit, and the files that they name. */
export interface ReadEdit {
  readonly edit: PdfEdit;
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  readonly refuse: RefuseField;
  /** Messages about fields that have no effect. */
  readonly unknown: readonly string[];
}

/** Files of one request. */
const MAX_FILES = 100;

/** Takes a request apart. @throws ApiError `invalid_request` naming the field */
export async function* readEdit(request: EditRequest): AsyncGenerator<void, ReadEdit, void> {
  const { sent, contentType, rendered, contents, placed } = request;
  const prefix = rendered === null ? "" : "edit.";
  const refuse: RefuseField = (field, why) => invalidRequest(`${prefix}${field}: ${why}`);
  const files = new Map<string, Uint8Array<ArrayBuffer>>();
  const add = (name: string, bytes: Uint8Array<ArrayBuffer>): void => {
    if (files.has(name)) throw refuse("files", `"${name}" is there twice`);
    if (files.size >= MAX_FILES) throw refuse("files", `At most ${MAX_FILES} are allowed`);
    files.set(name, bytes);
  };
  if (rendered !== null) add(RENDERED, rendered);
  for (const [name, [from, to]] of Object.entries(placed)) add(name, contents.slice(from, to));
  let options = sent;
  if (isMultipart(contentType)) {
    const form = await readFiles(sent, contentType);
    yield;
    for (const part of form.files) {
      if (!(part instanceof File)) throw refuse("files", "A file is needed, with its name");
      add(part.name, new Uint8Array(await part.arrayBuffer()));
      yield;
    }
    options = await optionsOf(form.others);
  }
  const { output: edit, unknown } = readJsonBytes(options, editSchema);
  for (const { name, content } of edit.files ?? []) {
    yield;
    const bytes = fromBase64(content);
    if (bytes === null) throw refuse("files", `The content of "${name}" is not base64`);
    add(name, bytes);
  }
  return { edit, files, refuse, unknown };
}

/** The options of a form; all other parts are refused. */
async function optionsOf({
  options = "{}",
  ...others
}: Readonly<Record<string, unknown>>): Promise<Uint8Array<ArrayBuffer>> {
  refuseUnknown(
    Object.keys(others).map(
      (name) =>
        `Unknown part "${name.slice(0, 60)}": files are parts "files", all else is in "options"`,
    ),
  );
  return typeof options === "string" ? utf8(options) : new Uint8Array(await fileBytes(options));
}

async function fileBytes(part: unknown): Promise<ArrayBuffer> {
  return part instanceof Blob ? part.arrayBuffer() : new ArrayBuffer(0);
}

/** Returns the bytes of a file that a field names. @throws ApiError `invalid_request` */
export function fileOf(
  { files, refuse }: Pick<ReadEdit, "files" | "refuse">,
  field: string,
  name: string,
): Uint8Array<ArrayBuffer> {
  const bytes = files.get(name);
  if (bytes !== undefined) return bytes;
  throw refuse(
    field,
    `There is no file "${name}": the files are ${[...files.keys()].slice(0, 10).join(", ") || "missing"}`,
  );
}
