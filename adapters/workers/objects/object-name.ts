import { ApiError } from "../../../core/http/api-error.ts";

/** The actor that a Durable Object hosts. */
export interface ObjectAddress {
  /** Separates the objects of several platforms; usually empty. */
  readonly prefix: string;
  readonly kind: string;
  readonly name: string;
}

/** Longest object name, in bytes of UTF-8, that workerd hands back as `ctx.id.name`. */
const LONGEST_NATIVE_NAME = 1024;

/**
 * Returns the name of the Durable Object of an actor: `kind:name`, or `prefix/kind:name`. Prefix and kind are
 * percent-encoded, so that they hold neither `/` nor `:`, and the actor's name stands last and untouched: no two actors
 * share an object.
 */
export function objectName({ prefix, kind, name }: ObjectAddress): string {
  const head = prefix === "" ? "" : `${encodeURIComponent(prefix)}/`;
  return `${head}${encodeURIComponent(kind)}:${name}`;
}

/** Parses a name that {@link objectName} made. */
export function parseObjectName(text: string): ObjectAddress {
  const colon = text.indexOf(":");
  if (colon < 0)
    throw new ApiError("internal", { message: "The Durable Object has a foreign name" });
  const head = text.slice(0, colon);
  const slash = head.indexOf("/");
  return {
    prefix: decodeURIComponent(head.slice(0, Math.max(slash, 0))),
    kind: decodeURIComponent(head.slice(slash + 1)),
    name: text.slice(colon + 1),
  };
}

/** Whether the runtime passes the name to the object; a longer name has to be sent and stored. */
export function hasNativeName(text: string): boolean {
  return (
    text.length <= LONGEST_NATIVE_NAME &&
    new TextEncoder().encode(text).byteLength <= LONGEST_NATIVE_NAME
  );
}
