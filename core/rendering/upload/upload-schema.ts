import * as v from "valibot";
import { invalidRequest } from "../../http/api-error.ts";

/** The name of the page in an upload, and bounds: files of one upload beside the page, bytes of a file, characters of a name. */
export const INDEX = "index.html";
const MAX_FILES = 200;
const MAX_FILE = 8 * 1024 * 1024;
const MAX_NAME = 200;

/** A form with a page and its files; names are Gotenberg's, but for `options`. */
export interface UploadForm {
  readonly files: readonly File[];
  /** The body of the rendering as JSON. */
  readonly options?: string | File | undefined;
}

const file = v.pipe(
  v.file("A file is needed, with its name"),
  v.check(
    ({ name }) => isPath(name),
    ({ input: { name } }) =>
      `"${name.slice(0, 60)}" is not a name such as style.css or images/logo.png`,
  ),
  v.check(
    ({ size }) => size <= MAX_FILE,
    ({ input: { name } }) => `"${name}" has more than ${MAX_FILE} bytes`,
  ),
);

export const uploadSchema: v.GenericSchema<unknown, UploadForm> = v.strictObject(
  {
    files: v.pipe(
      v.array(file),
      v.maxLength(MAX_FILES + 1, `At most ${MAX_FILES} are allowed`),
      v.check(
        (files) => twice(files) === undefined,
        ({ input }) => `"${twice(input)}" is there twice`,
      ),
      v.check(
        (files) => files.some(({ name }) => name === INDEX),
        `One of them has to be called ${INDEX}`,
      ),
    ),
    options: v.optional(v.union([v.string(), v.file()])),
  },
  ({ path }) => unknownPart(path?.[0]?.key, path?.[0]?.value),
);

/** Checks the values of a form by the names of their fields: `files` is a list. @throws ApiError `invalid_request` naming the part */
export function checkUpload(form: Readonly<Record<string, unknown>>): UploadForm {
  const { success, output, issues } = v.safeParse(uploadSchema, form);
  if (success) return output;
  // A misspelt part is why the right one is missing.
  const { path, message } = issues.find(({ type }) => type === "strict_object") ?? issues[0];
  const isFiles = path?.[0]?.key === "files";
  throw invalidRequest(isFiles ? `files: ${message}` : message);
}

/** Whether a name is a path below the page, and nothing that could be taken for another place. */
function isPath(name: string): boolean {
  const isBelow = name.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  return isBelow && name.length <= MAX_NAME && !/[\\:\p{Cc}]/u.test(name);
}

/** Returns the first name that comes a second time. */
function twice(files: readonly File[]): string | undefined {
  const names = new Set<string>();
  return files.find(({ name }) => names.size === names.add(name).size)?.name;
}

function unknownPart(field: unknown, value: unknown): string {
  const what = typeof value === "string" ? 'put it into "options", which is JSON' : 'use "files"';
  return `"${String(field).slice(0, 40)}" is not a part of an upload: ${what}`;
}
