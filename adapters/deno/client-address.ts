const addresses = new WeakMap<Request, Deno.Addr>();

/** Remembers from where a request came. */
export function rememberAddress(request: Request, address: Deno.Addr): void {
  addresses.set(request, address);
}

/** Returns the address from which Deno received a request; null for one of a server that is not `serve()`. */
export function clientAddressOnDeno(request: Request): string | null {
  const address = addresses.get(request);
  return address !== undefined && "hostname" in address ? address.hostname : null;
}
