import { denoPlatform, serve } from "../../adapters/deno/mod.ts";
import {
  connector,
  type ConnectLiving,
  livingConnector,
  opener,
  type Connect,
  type OpenPlatform,
} from "./local.ts";
import { type ConnectMute, muteConnector } from "./mute-client.ts";

export { evict } from "./local.ts";
export const openPlatform: OpenPlatform = opener(denoPlatform);
export const connect: Connect = connector(serve);
export const connectLiving: ConnectLiving = livingConnector(serve);
export const connectMute: ConnectMute = muteConnector(serve);
