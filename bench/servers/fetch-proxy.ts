// The smallest proxy of Bun and of Deno: the runtime's server, the runtime's fetch.
import process from "node:process";
import { listen } from "./listen.ts";

const target = new URL("/v1/chat/completions", process.env["UPSTREAM"]);
listen(async (request) => {
  const { method, headers } = request;
  const body = await request.arrayBuffer();
  const answer = await fetch(target, {
    method,
    headers: {
      "content-type": headers.get("content-type") ?? "",
      authorization: headers.get("authorization") ?? "",
    },
    body,
  });
  return new Response(answer.body, {
    status: answer.status,
    headers: { "content-type": answer.headers.get("content-type") ?? "" },
  });
});
