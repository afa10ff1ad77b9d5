import { sha256Hex } from "../crypto/digest.ts";
import { utf8 } from "../crypto/encoding.ts";
import { ApiError } from "../http/api-error.ts";

/** Longest entity name in bytes of UTF-8; beyond it Durable Objects have no native identity. */
export const NAME_LIMIT: number = 1024;

/**
 * The entity name of one raw path segment: percent-decoded exactly once, without Unicode normalisation or a change of
 * case. So a client reaches exactly the instance that a webhook fed. Anything but 1 to 1,024 bytes of well-formed text
 * is a 400.
 */
export function decodeName(segment: string): string {
  try {
    return checkName(segment.includes("%") ? decodeURIComponent(segment) : segment);
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError("entity_missing", {
      message: `The path segment "${segment.slice(0, 64)}" is not valid percent-encoded UTF-8`,
    });
  }
}

/** Returns the name unchanged when it can be one, else throws 400. */
export function checkName(name: string): string {
  if (name === "") throw new ApiError("entity_missing");
  // A URL with such a segment is another URL: some runtimes resolve it, others hand it on.
  if (name === "." || name === "..") {
    throw new ApiError("entity_missing", {
      message: `The entity identifier must not be "${name}"`,
    });
  }
  // Three bytes at most for each UTF-16 unit: a short name need not be encoded.
  if (name.length * 3 > NAME_LIMIT && utf8(name).length > NAME_LIMIT) {
    throw new ApiError("entity_missing", {
      message: `The entity identifier is over ${NAME_LIMIT} bytes`,
    });
  }
  // PostgreSQL cannot store NUL in text, and a lone surrogate has no UTF-8 form.
  if (name.includes("\0") || !name.isWellFormed()) {
    throw new ApiError("entity_missing", {
      message: "The entity identifier is not well-formed text",
    });
  }
  return name;
}

/** The agent name of an identifier in a payload: `/` becomes `-`, letters become lower case. */
export function nameFromId(id: string): string {
  return checkName(id.replaceAll("/", "-").toLowerCase());
}

/**
 * The name that an identifier gets when another identifier already owns {@link nameFromId} of it:
 * `foo-bar/baz` and `foo/bar-baz` must not share an agent.
 */
export async function guardedName(id: string): Promise<string> {
  return checkName(`${nameFromId(id)}-${(await sha256Hex(id)).slice(0, 8)}`);
}
