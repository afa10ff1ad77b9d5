import { ApiError } from "../../../http/api-error.ts";
import type { Step } from "../../call/call.ts";
import type { GrantedPath, KeyGrant } from "../../call/caller.ts";
import { fitsPattern } from "../../prices/model-spellings.ts";
import { headerValue } from "../../wire/header-hygiene.ts";
import { partsOf } from "../../wire/multipart.ts";
import {
  beginsAsWideText,
  bodyText,
  inOtherCharset,
  isJson,
  plainBytes,
} from "../../wire/readable-body.ts";
import { isInference, plainPath, takesUpload } from "./inferences.ts";
import {
  storedFields,
  storedInPath,
  type StoredReference,
  storedReferences,
} from "./stored-references.ts";

/** A request of a virtual key that the operator's credential would serve. */
export interface ReachRequest {
  readonly step: Step;
  /** Behind the provider's base URL. */
  readonly path: string;
  readonly grant: KeyGrant;
}

/**
 * Throws `forbidden` unless a virtual key may send a request with the operator's credential: it is an inference, or among
 * the key's `paths`, and refers to nothing that is kept at the provider, but what those paths let it read.
 */
export function checkReach({ step, path: given, grant }: ReachRequest): void {
  const { slug, method, origin, isSocket } = step;
  const path = plainPath(given);
  checkMethod(step);
  const isOpened = opens(grant.paths, method, slug, path);
  const isKnown = isOpened || isInference({ slug, method, path, origin, isSocket });
  if (!isKnown || !isPlain(path)) throw closed(method, slug, given);
  const found = referencesOf(step, path, isOpened || takesUpload({ slug, path }));
  if (found === null && opensAll(grant.paths, slug)) return;
  if (found === null) throw new ApiError("forbidden", { message: unreadable(step) });
  const reference = closedReference(found, slug, grant);
  if (reference !== undefined) throw new ApiError("forbidden", { message: kept(reference, slug) });
}

/** Returns the first of these that a key may not read. */
function closedReference(
  references: readonly StoredReference[],
  slug: string,
  { paths }: KeyGrant,
): StoredReference | undefined {
  return references.find(({ collection, id }) => !opens(paths, "GET", slug, `${collection}/${id}`));
}

/**
 * Returns why a message of a WebSocket may not pass, in few words; null for one that may. Messages other than JSON are
 * sound.
 */
export function refusedMessage(text: string, { step, path, grant }: ReachRequest): string | null {
  const references = storedReferences(text, plainPath(path));
  if (references === null) return "The message cannot be read: it names a member twice";
  const found = closedReference(references, step.slug, grant);
  return found === undefined
    ? null
    : `The virtual key's "paths" do not open ${step.slug}/${found.collection}`;
}

/** Whether a request fits one of a key's paths. */
function opens(paths: readonly GrantedPath[], method: string, slug: string, path: string): boolean {
  const address = `${slug}/${path}`;
  return paths.some(
    (granted) =>
      (granted.method === "*" || granted.method === method) && fitsPattern(address, granted.path),
  );
}

/** Whether nothing of a provider is closed to a key. */
function opensAll(paths: readonly GrantedPath[], slug: string): boolean {
  return paths.some(
    ({ method, path }) => method === "*" && (path === "*/*" || path === `${slug}/*`),
  );
}

/**
 * Whether every server reads a path as it stands: an escaped slash may lead elsewhere, and so may what is escaped twice.
 */
function isPlain(path: string): boolean {
  if (!path.includes("%")) return !path.includes("//") && !path.includes(";");
  if (/%(?:25|5c|00|23|3f|3b)/i.test(path)) return false;
  return !/(?:^|\/|%2f)(?:\.{0,2})(?:\/|%2f|$)/i.test(path);
}

/** Headers and parameters that make another request of one, where a provider takes them. */
const OVERRIDE =
  /^\$?(?:x-)?(?:_?method|http-?method|http-?headers|user-?project)(?:-override)?$|^x-(?:original|rewrite)-url$/i;

function checkMethod({ headers, query }: Step): void {
  const names = headers.map(([name]) => name);
  if (query !== "") names.push(...new URLSearchParams(query).keys());
  const found = names.find((name) => OVERRIDE.test(name));
  if (found === undefined) return;
  throw new ApiError("forbidden", {
    message: `A virtual key may not change its request by "${found.slice(0, 64)}": send the request itself`,
  });
}

/** Types of bodies that hold no references: sound, pictures, and what has no type. */
const BINARY = /^(?:audio|image|video)\/|^application\/octet-stream\b/i;
/** Providers whose forms can name files that are kept there. */
const FORM_REFERENCES: ReadonlySet<string> = new Set(["mistral"]);

/**
 * Lists the objects stored at the provider to which a request refers; null where that cannot be read. An upload need not be
 * readable: it may be too long.
 */
function referencesOf(step: Step, path: string, isUpload: boolean): StoredReference[] | null {
  const { query, body } = step;
  const named = storedInPath(path);
  if (query !== "") named.push(...storedFields(new URLSearchParams(query)));
  const inBody = body === null ? [] : bodyReferences(step, path, isUpload);
  return inBody === null || named.length === 0 ? inBody : [...named, ...inBody];
}

function bodyReferences(step: Step, path: string, isUpload: boolean): StoredReference[] | null {
  const type = headerValue(step.headers, "content-type") ?? "";
  const bytes = plainBytes(step);
  if (/^multipart\/form-data\b/i.test(type)) {
    const inForm = bytes === null ? null : formReferences(bytes, type);
    return inForm === null && isUpload && !FORM_REFERENCES.has(step.slug) ? [] : inForm;
  }
  if (bytes === null) return isUpload && BINARY.test(type) ? [] : null;
  if (bytes.length > 0 && isJson(step, bytes))
    return inOtherCharset(type) ? null : storedReferences(bodyText(step) ?? "", path);
  return otherReferences(bytes, type);
}

/** Lists the references of a body that is neither a form with parts nor JSON. */
function otherReferences(bytes: Uint8Array, type: string): StoredReference[] | null {
  if (/^application\/x-www-form-urlencoded\b/i.test(type))
    return storedFields(new URLSearchParams(decoder.decode(bytes)));
  return beginsAsWideText(bytes) && !BINARY.test(type) ? null : [];
}

const decoder = new TextDecoder();

/** Null for a form that cannot be read. */
function formReferences(bytes: Uint8Array, type: string): StoredReference[] | null {
  const fields = partsOf(bytes, type)?.map(({ name, body }): [string, string] => [
    name,
    decoder.decode(body.subarray(0, 256)),
  ]);
  return fields === undefined ? null : storedFields(fields);
}

function closed(method: string, slug: string, path: string): ApiError {
  const shown = `${method.slice(0, 16)} ${`${slug}/${path}`.slice(0, 128)}`;
  return new ApiError("forbidden", {
    message: `A virtual key makes inferences only, and "${shown}" is not known to be one. To open it, add "${shown}" to the key's "paths", or send a provider key of your own`,
  });
}

function kept({ collection, id }: StoredReference, slug: string): string {
  const shown = `GET ${slug}/${collection}/${id}`.slice(0, 160);
  return `The request refers to something that is kept at "${slug}", and a virtual key shares its account with others. Send the content itself, or add "${shown}" to the key's "paths"`;
}

function unreadable({ slug }: Step): string {
  return `The body of a virtual key's request must be read, or it might refer to something that is kept at "${slug.slice(0, 64)}": send JSON in UTF-8 of at most 10 MB that names no member twice, or add "* ${slug.slice(0, 64)}/*" to the key's "paths"`;
}
