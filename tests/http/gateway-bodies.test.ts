import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { noBrowser, startTarget, type Target } from "./target.ts";

const MEBI = 1024 * 1024;
const REQUESTS = 20;

let target: Target;
let folder: string;
/** Answers of the provider that are held back. */
const waiting: (() => void)[] = [];
const provider = createServer((request, response) => {
  request.resume().once("end", () => waiting.push(() => void response.end("{}")));
});

beforeAll(async () => {
  await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve));
  const { port } = provider.address() as AddressInfo;
  folder = mkdtempSync(join(tmpdir(), "causey-bodies-"));
  const file = join(folder, "causey.json");
  const config = {
    bodyBytes: 100 * MEBI,
    gateway: {
      providers: { openai: { baseUrl: `http://127.0.0.1:${port}` } },
      gateways: { open: { authentication: false } },
    },
  };
  writeFileSync(file, JSON.stringify(config));
  target = await startTarget({ args: ["--config", file], env: noBrowser });
});
afterAll(async () => {
  await target.stop();
  provider.closeAllConnections();
  provider.close();
  rmSync(folder, { recursive: true, force: true });
});

const body = JSON.stringify({ model: "gpt-4o", messages: [], user: "x".repeat(9.5 * MEBI) });

/** Sends 9.5 MB; resolves to status and `retry-after`. */
function send(headers: Readonly<Record<string, string>>): Promise<[number, string | undefined]> {
  return new Promise((resolve, reject) => {
    const url = `${target.url}/v1/local/open/openai/chat/completions`;
    const all = { "content-type": "application/json", "content-length": body.length, ...headers };
    const sent = httpRequest(url, { method: "POST", agent: false, headers: all });
    sent.once("response", (answer: IncomingMessage) => {
      resolve([answer.statusCode ?? 0, answer.headers["retry-after"]]);
      answer.resume();
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

/** Answers everything that arrives at the provider, until `work` is done. */
async function answering<T>(work: Promise<T>): Promise<T> {
  const timer = setInterval(() => waiting.splice(0).forEach((answer) => answer()), 50);
  return work.finally(() => clearInterval(timer));
}

it("of 20 bodies of 9.5 MB at once those pass that have room, and the others are told to come again", async () => {
  const needed = { "cf-aig-max-attempts": "2" };
  const refused = Promise.withResolvers<void>();
  let left = REQUESTS - 5;
  const all = Array.from({ length: REQUESTS }, () =>
    send(needed).then((answer) => {
      if (answer[0] === 429 && --left === 0) refused.resolve();
      return answer;
    }),
  );
  // At most five have room, so 15 are refused while no answer comes.
  await refused.promise;
  const answers = await answering(Promise.all(all));
  const told = new Set(answers.map((answer) => answer.join()));
  expect([...told].toSorted()).toEqual(["200,", "429,1"]);
  // The room is given back.
  expect(await answering(send(needed))).toEqual([200, undefined]);
});

it("20 bodies of 9.5 MB at once stream through where nothing needs them", async () => {
  const answers = await answering(Promise.all(Array.from({ length: 20 }, () => send({}))));
  expect(answers).toEqual(answers.map(() => [200, undefined]));
});
