import type { MiddlewareHandler } from "hono";
import { addNotes } from "../http/fields/unknown-fields.ts";
import { responseNote } from "../http/response-note.ts";
import { misspelling } from "../text/nearest.ts";
import { viewerOf } from "./authorize.ts";
import { reaches } from "./principal.ts";

/**
 * Adds a note to an empty list of an account whose name is nearly the server's own: a token of the operator may read every
 * account, so that a misspelt one is not an error.
 */
export function notesNearAccount(own: string): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.method !== "GET") return next();
    await next();
    const account = /\/accounts\/([^/]+)\//u.exec(c.req.path)?.[1] ?? own;
    if (account === own || !isEmptyList(c.res)) return;
    // The name of an account is for those who may read it.
    const viewer = viewerOf(c);
    if (viewer !== "host" && !reaches(viewer, own)) return;
    if (misspelling(account, [own]) === undefined) return;
    await addNotes(c, [`The account "${account}" has nothing here: did you mean "${own}"?`]);
  };
}

function isEmptyList(response: Response): boolean {
  const body = responseNote(response)?.body;
  return typeof body === "string" && body.startsWith('{"result":[],');
}
