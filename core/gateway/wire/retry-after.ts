/** Returns the header that says when to try again, in `wait` ms: whole seconds, rounded up (RFC 9110, section 10.2.3). */
export function retryAfter(wait: number): { readonly "retry-after": string } {
  return { "retry-after": String(Math.ceil(wait / 1000)) };
}
