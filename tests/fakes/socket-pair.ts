/** Both ends of a WebSocket within this process. */
export interface SocketPair {
  readonly client: WebSocket;
  readonly server: WebSocket;
}

type Message = string | ArrayBuffer;

/** One end, with what the code under test uses of a standard WebSocket. */
class End extends EventTarget {
  readonly OPEN = 1;
  readyState = 0;
  bufferedAmount = 0;
  binaryType = "blob";
  readonly protocol: string;
  peer: End | undefined;

  constructor(protocol: string) {
    super();
    this.protocol = protocol;
  }

  // Setters only: workerd's events also call what they find under these names.
  set onopen(listener: (event: Event) => void) {
    this.addEventListener("open", listener);
  }
  set onmessage(listener: (event: Event) => void) {
    this.addEventListener("message", listener);
  }
  set onclose(listener: (event: Event) => void) {
    this.addEventListener("close", listener);
  }
  set onerror(listener: (event: Event) => void) {
    this.addEventListener("error", listener);
  }

  /** The network: what was sent arrives after this turn, in order. */
  later(work: () => void): void {
    setTimeout(work, 0);
  }

  open(): void {
    this.readyState = 1;
    this.dispatchEvent(new Event("open"));
  }

  send(message: string | Uint8Array<ArrayBuffer>): void {
    if (this.readyState !== 1) return;
    const data: Message = typeof message === "string" ? message : message.slice().buffer;
    const size = typeof data === "string" ? data.length : data.byteLength;
    this.bufferedAmount += size;
    this.later(() => {
      this.bufferedAmount -= size;
      this.peer?.dispatchEvent(Object.assign(new Event("message"), { data }));
    });
  }

  close(code = 1005, reason = ""): void {
    if (this.readyState > 1) return;
    this.readyState = 2;
    this.later(() => {
      this.peer?.ended(code, reason);
      this.ended(code, reason);
    });
  }

  ended(code: number, reason: string): void {
    if (this.readyState === 3) return;
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code, reason }));
  }
}

/** A pair that opens after this turn: the client before the server, so that nothing is sent to nobody. */
export function socketPair(protocol: string): SocketPair {
  const [client, server] = [new End(protocol), new End(protocol)];
  client.peer = server;
  server.peer = client;
  setTimeout(() => {
    client.open();
    server.open();
  }, 0);
  // `as`: what the code under test uses of a WebSocket.
  return { client: client as unknown as WebSocket, server: server as unknown as WebSocket };
}
