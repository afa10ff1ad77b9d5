import { connect, type Socket } from "node:net";
import { TransportError } from "../../../core/net/transport-error.ts";
import type { ResolvedAddress } from "./egress-resolve.ts";

/** Opens a TCP connection to the first of the checked addresses that answers, each in at most `timeoutMs`. */
export async function dial(
  addresses: readonly ResolvedAddress[],
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  let last: TransportError = new TransportError("unreachable", "The name has no address");
  for (const { address } of addresses) {
    try {
      return await dialOne(address, port, timeoutMs);
    } catch (error) {
      last =
        error instanceof TransportError ? error : new TransportError("unreachable", String(error));
    }
  }
  throw last;
}

function dialOne(address: string, port: number, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: address, port, noDelay: true });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      socket.destroy();
      reject(new TransportError("unreachable", error.message, { cause: error }));
    };
    const timer = setTimeout(() => fail(new TransportError("unreachable", "ETIMEDOUT")), timeoutMs);
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
