import { ApiError } from "../api-error.ts";
import { checkForm } from "./form-bounds.ts";

/** Some more than there may be files, so that their own bound names them. */
const FORM_BOUNDS = { parts: 1000, headers: 16 * 1024 };

/** Whether a body is a form with files. */
export function isMultipart(contentType: string): boolean {
  return /^multipart\/form-data\s*;/iu.test(contentType);
}

/** The parts of a form: the files of its field `files`, and the values of the others by their names. */
export interface FormParts {
  readonly files: readonly unknown[];
  readonly others: Readonly<Record<string, unknown>>;
}

/**
 * Reads a form with files, within bounds; it takes as long as the form is large.
 *
 * @throws ApiError `invalid_request`
 */
export async function readForm(
  bytes: Uint8Array<ArrayBuffer>,
  contentType: string,
): Promise<FormParts> {
  const type = checkForm(bytes, contentType, FORM_BOUNDS);
  const form = await new Response(bytes, { headers: { "content-type": type } })
    .formData()
    .catch((error: unknown) => {
      throw new ApiError("invalid_request", {
        message: "The body is not a form (multipart/form-data)",
        cause: error,
      });
    });
  const files: unknown[] = [];
  const others = new Map<string, unknown>();
  for (const [field, part] of form)
    if (field === "files") files.push(part);
    else others.set(field, part);
  return { files, others: Object.fromEntries(others) };
}
