// The floor of a gateway: node:http in, node:http out, headers and bytes passed on as they are.
import { Agent, createServer, request } from "node:http";

const upstream = new URL(process.env["UPSTREAM"] ?? "");
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const server = createServer((req, res) => {
  const call = request(
    {
      agent,
      host: upstream.hostname,
      port: upstream.port,
      method: req.method,
      path: "/v1/chat/completions",
      headers: { ...req.headers, host: upstream.host },
    },
    (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(res);
    },
  );
  call.on("error", () => res.destroy());
  req.pipe(call);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null)
    process.stdout.write(`http://127.0.0.1:${address.port}/\n`);
});
process.on("SIGTERM", () => process.exit(0));
