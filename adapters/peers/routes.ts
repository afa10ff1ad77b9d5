/** The path of requests to an actor. */
export const FETCH = "/fetch";
/** The path of the connection that carries calls, in the order in which they are made. */
export const CALLS = "/calls";
/** What that connection is upgraded to (RFC 9110 section 7.8). */
export const UPGRADE = "causey-calls";

/** The header that names what both ends have to agree on, percent-encoded. */
export const SPEAKS = "x-causey-speaks";
/** The header that names the owner's process. */
export const PID = "x-causey-pid";

/** The status of an owner that shuts down: the actor has moved (RFC 9110 section 15.5.20). */
export const MOVED = 421;
/** The status for a caller that speaks otherwise; the body says how the owner does. */
export const UNLIKE = 409;
