import { bunPlatform, serve } from "../../adapters/bun/mod.ts";
import { connector, opener, type Connect, type OpenPlatform } from "./local.ts";

export { evict } from "./local.ts";
export const openPlatform: OpenPlatform = opener(bunPlatform);
export const connect: Connect = connector(serve);
