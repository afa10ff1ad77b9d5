import { connect, type Socket } from "node:net";
import { TransportError } from "../../../core/net/transport-error.ts";
import type { ResolvedAddress } from "./egress-resolve.ts";

/** Opens a TCP connection to the first of the checked addresses that answers, each in at most `timeoutMs`. */
export async function dial(
  addresses: readonly ResolvedAddress[],
  port: number,
  timeoutMs: number,
): Promise<Socket> {
  let last = new TransportError("unreachable", "The name has no address", { failure: "dns" });
  for (const { address } of addresses) {
    try {
      return await dialOne(address, port, timeoutMs);
    } catch (error) {
      last = error instanceof TransportError ? error : TransportError.unreachable(error);
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
      reject(TransportError.unreachable(error));
    };
    const timer = setTimeout(
      () => fail(new Error(`No connection within ${timeoutMs} ms: timed out`)),
      timeoutMs,
    );
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      resolve(socket);
    });
  });
}
