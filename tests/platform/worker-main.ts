export { CauseyObject } from "../../adapters/workers/objects/causey-object.ts";

/** The suites call the ports themselves; nobody sends this Worker a request. */
export default { fetch: (): Response => new Response(null, { status: 404 }) };
