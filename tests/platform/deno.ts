import { denoPlatform, serve } from "../../adapters/deno/mod.ts";
import { connector, opener, type Connect, type OpenPlatform } from "./local.ts";

export { evict } from "./local.ts";
export const openPlatform: OpenPlatform = opener(denoPlatform);
export const connect: Connect = connector(serve);
