// Loaded before a server that chooses its own address: it gets a free port of the loopback interface instead.
import { Server } from "node:net";

const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server): Server {
  this.once("listening", () => {
    const address = this.address();
    if (typeof address === "object" && address !== null)
      process.stdout.write(`http://127.0.0.1:${address.port}/\n`);
  });
  return Reflect.apply(listen, this, [0, "127.0.0.1"]);
};
