import { ApiError } from "../api-error.ts";

/** Bounds of a form's parts. */
export interface FormBounds {
  readonly parts: number;
  /** Characters of the headers of one part. */
  readonly headers: number;
}

/**
 * Throws `invalid_request` for a multipart form of more parts, or of longer headers, than `bounds`, before a parser sees it: parsers
 * take a header of six bytes for as much work as one of a file, and run on the event loop. Returns the media type to parse it with:
 * it names the boundary that was counted, for of several parsers take different ones.
 */
export function checkForm(body: Uint8Array, contentType: string, bounds: FormBounds): string {
  const boundary = /;\s*boundary=(?:"([^"\\]+)"|([^\s;"\\]+)(?=[\s;]|$))/iu.exec(contentType);
  const name = boundary?.[1] ?? boundary?.[2];
  if (name === undefined && /boundary/iu.test(contentType)) throw formError("no plain boundary");
  // The parser will report the fault.
  if (name === undefined) return contentType;
  // The first delimiter may stand at the very beginning.
  const form = `\r\n${new TextDecoder("latin1").decode(body)}`;
  const delimiter = `\r\n--${name}`;
  let parts = 0;
  for (let at = form.indexOf(delimiter); at !== -1; at = form.indexOf(delimiter, at + 1)) {
    if (form.startsWith("--", at + delimiter.length)) continue;
    parts += 1;
    if (parts > bounds.parts) throw formError(`more than ${bounds.parts} parts`);
    const end = form.indexOf("\r\n\r\n", at);
    if ((end === -1 ? form.length : end) - at > bounds.headers)
      throw formError(`headers of more than ${bounds.headers} bytes before part ${parts}`);
  }
  return `multipart/form-data; boundary="${name}"`;
}

function formError(what: string): ApiError {
  return new ApiError("invalid_request", { message: `The form has ${what}` });
}
