import { ApiError } from "../api-error.ts";
import type { ErrorName } from "../codes.ts";

/** Whether a body says that it is a form in parts. */
export function isMultipart(contentType: string): boolean {
  return /^multipart\/form-data\s*(?:;|$)/iu.test(contentType);
}

/** Bounds of a form's parts. */
export interface FormBounds {
  readonly parts: number;
  /** Characters of the headers of one part. */
  readonly headers: number;
}

/**
 * Reads a form in parts, within bounds; it takes as long as the form is large. Throws `error` for any other body, and for a form
 * that goes beyond its bounds.
 */
export async function readForm(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
  bounds: FormBounds,
  error: ErrorName = "invalid_request",
): Promise<FormData> {
  const { fault, type } = checkForm(bytes, contentType, bounds);
  if (fault !== undefined) throw new ApiError(error, { message: `The form has ${fault}` });
  return new Response(bytes, { headers: { "content-type": type } })
    .formData()
    .catch((cause: unknown) => {
      const message = "The body is not a well-formed form (multipart/form-data)";
      throw new ApiError(error, { message, cause });
    });
}

/** The result of {@link checkForm}: what is wrong with a form, or the media type to read it with. */
type CheckedForm =
  | { readonly fault: string; readonly type?: undefined }
  | { readonly fault?: undefined; readonly type: string };

/** The parameter in characters that every parser reads alike (RFC 2046, section 5.1.1). */
const BOUNDARY = /;\s*boundary=(?:"([ !#-[\]-~]{1,70})"|([!#-:<-[\]-~]{1,70})(?=[\s;]|$))/iu;

/**
 * Counts the parts of a form, and the length of their headers, before a parser sees it: parsers take a header of six bytes for as
 * much work as one of a file, and run on the event loop. Parsers differ in the boundary that they take of several, so the
 * returned media type names the one that was counted.
 */
export function checkForm(body: Uint8Array, contentType: string, bounds: FormBounds): CheckedForm {
  const [, quoted, bare] = BOUNDARY.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) return { fault: "no boundary of 1 to 70 ASCII characters" };
  // The first delimiter may stand at the very beginning, and some parsers take a line feed alone.
  const form = `\n${new TextDecoder("latin1").decode(body)}`;
  const delimiter = `\n--${boundary}`;
  let parts = 0;
  for (let at = form.indexOf(delimiter); at !== -1; at = form.indexOf(delimiter, at + 1)) {
    if (form.startsWith("--", at + delimiter.length)) continue;
    parts += 1;
    if (parts > bounds.parts) return { fault: `more than ${bounds.parts} parts` };
    const end = form.indexOf("\r\n\r\n", at);
    if ((end === -1 ? form.length : end) - at > bounds.headers)
      return { fault: `headers of more than ${bounds.headers} bytes before part ${parts}` };
  }
  return { type: `multipart/form-data; boundary="${boundary}"` };
}

/** Bounds of a form with files: some more than there may be, so that their own bound names them. */
const FILES_BOUNDS = { parts: 1000, headers: 16 * 1024 };

/** The parts of a form with files: those of its field `files`, and the values of the others by their names. */
export interface FormParts {
  readonly files: readonly unknown[];
  readonly others: Readonly<Record<string, unknown>>;
}

/**
 * Reads a form with files.
 *
 * @throws ApiError `invalid_request`
 */
export async function readFiles(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): Promise<FormParts> {
  const form = await readForm(bytes, contentType, FILES_BOUNDS);
  const others = [...form].filter(([field]) => field !== "files");
  return { files: form.getAll("files"), others: Object.fromEntries(others) };
}
