import type { ResolvedAddress } from "./egress-resolve.ts";

/** Answers a client's question for the address of a host, as `node:net` asks it. */
export type Lookup = (
  host: string,
  options: { readonly all?: boolean | undefined },
  callback: (
    error: NodeJS.ErrnoException | null,
    address: string | { address: string; family: number }[],
    family?: number,
  ) => void,
) => void;

/** Answers with the addresses that were checked, whatever the name resolves to by now. */
export function pinnedLookup(addresses: readonly ResolvedAddress[]): Lookup {
  return (_host, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
}
