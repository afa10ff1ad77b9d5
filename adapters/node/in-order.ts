import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one connection that wait for the answer before theirs; a client that sends more is cut off. */
const WAITING = 100;

type Handle = (incoming: IncomingMessage, outgoing: ServerResponse) => void;

/**
 * Handles the requests of a connection one after the other. Node parses all that one read brings, a thousand pipelined requests and
 * more, and holds back every answer that the client does not read: a megabyte of requests would cost gigabytes of answers.
 */
export function inOrder(handle: Handle): Handle {
  /** By connections with a request under way: those that wait for it. */
  const queues = new WeakMap<Socket, (() => void)[]>();
  return (incoming, outgoing) => {
    const { socket } = incoming;
    const begin = (): void => {
      // `on`: a response closes once, and `once` makes three objects more.
      outgoing.on("close", () => next(socket));
      handle(incoming, outgoing);
    };
    const waiting = queues.get(socket);
    if (waiting === undefined) {
      queues.set(socket, []);
      begin();
    } else if (waiting.length < WAITING) waiting.push(begin);
    else socket.destroy();
  };

  function next(socket: Socket): void {
    const begin = socket.destroyed ? undefined : queues.get(socket)?.shift();
    if (begin === undefined) queues.delete(socket);
    else begin();
  }
}
