import { nodePlatform, serve } from "../../adapters/node/mod.ts";
import { connector, opener, type Connect, type OpenPlatform } from "./local.ts";

export { evict } from "./local.ts";
export const openPlatform: OpenPlatform = opener(nodePlatform);
export const connect: Connect = connector(serve);
