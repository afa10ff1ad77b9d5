import { BoundedSet } from "../../../core/work/bounded-map.ts";
/** The origins to which a connection may be kept, because they have answered. */
export interface KeptOrigins {
  answered(url: string): void;
  has(url: string): boolean;
}

/** Origins that are remembered. */
const MOST = 1000;

/** For a `fetch` that does not report whether it used a kept connection. */
export function keptOrigins(): KeptOrigins {
  const origins = new BoundedSet<string>(MOST);
  return {
    answered(url) {
      origins.add(originOf(url));
    },
    has: (url) => origins.has(originOf(url)),
  };
}

/** A URL up to its path. */
function originOf(url: string): string {
  const end = url.indexOf("/", "https://".length);
  return end < 0 ? url : url.slice(0, end);
}
