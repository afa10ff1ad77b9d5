import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { nodePlatform } from "../../adapters/node/mod.ts";
import { searchParts } from "../../core/search/mod.ts";
import { root } from "../config/shared.ts";
import { pagesOfDocs } from "./sources.ts";

/** Questions that docs/ answers, and what a useful answer says. */
const questions: readonly (readonly [question: string, fact: RegExp])[] = [
  ["How long does a search wait for the embedder?", /10 s/],
  ["Which permission do I need to search an instance?", /AI Search Run/],
  ["What is the largest file that I can upload to search?", /4 MB|4 MiB/],
  ["How many instances can one search ask at once?", /ten instances|up to ten/i],
  ["What does match_threshold do?", /vector leg alone/],
  ["How is a hybrid search fused with builtin vectors?", /weighted/],
  ["Which languages without spaces does keyword search understand?", /Chinese|Thai/],
  ["How many dimensions does the builtin lexical model have?", /512|640/],
  ["What happens to an item when the embedder fails?", /error/],
  ["How do I use a gateway as the model endpoint of search?", /"gateway"|\{gateway, model/],
  ["How do I make an API token?", /causey token/],
  ["How do I revoke a token?", /revok|causey token/],
  ["How do I verify a webhook signature?", /verif/i],
  ["Which webhook signature schemes are there?", /github|stripe/i],
  ["How often is a webhook delivered again when the endpoint fails?", /attempt|again|retr/i],
  ["How do I schedule a task in an agent?", /schedule/],
  ["How does an agent call another agent?", /getAgentByName/],
  ["How do I set a spend limit for a gateway?", /spend/i],
  ["How do I set a rate limit of a gateway?", /rate/i],
  ["What does the semantic cache compare?", /number|negation|vector/i],
  ["How do I store a provider key in the gateway?", /key/i],
  ["How long may a provider take to begin its answer?", /10 minutes|firstByteSeconds/],
  ["How do I take a screenshot of a page?", /screenshot/],
  ["How do I turn a page into Markdown?", /markdown/i],
  ["How do I back up the data directory?", /backup/],
  ["Where do metrics for Prometheus come from?", /\/metrics/],
  ["What does readyz tell?", /readyz/],
  ["Can several processes share a data directory?", /--processes|share/],
  ["How do I put causey behind a reverse proxy?", /proxy/i],
  ["Which environment variable sets the log level?", /log-level|LOG_LEVEL/i],
];

/** Questions about other things. */
const offTopic: readonly string[] = [
  "How long does sourdough bread need to rise?",
  "Who won the football world cup in 1998?",
  "What is the capital of Mongolia?",
  "How do I treat a sprained ankle?",
  "Which wine goes with grilled salmon?",
  "When did the Roman Empire fall?",
  "How tall is Mount Kilimanjaro?",
  "What causes thunderstorms in summer?",
  "How do I prune an apple tree?",
  "What is the boiling point of ethanol?",
  "Who painted the Mona Lisa?",
  "How many strings does a violin have?",
  "What are the symptoms of measles?",
  "How do I renew my passport in Canada?",
  "Which planet has the most moons?",
  "How do I knit a woollen scarf?",
  "What is the average rent in Lisbon?",
  "How do bees find their way home?",
  "Which train goes from Vienna to Budapest?",
  "How do I remove red wine stains from a carpet?",
];

describe("answers of the builtin model about real documents", () => {
  let ask: (question: string) => Promise<string>;
  let close: () => Promise<void>;
  beforeAll(async () => {
    const platform = await nodePlatform({ dataDir: ":memory:", log: () => undefined });
    const { routes } = searchParts({ platform, auth: "off" });
    const path = "http://test/accounts/local/ai-search/instances";
    const post = (url: string, body: unknown): Promise<Response> =>
      Promise.resolve(
        routes.fetch(
          new Request(url, {
            method: "POST",
            headers: body instanceof FormData ? {} : { "content-type": "application/json" },
            body: body instanceof FormData ? body : JSON.stringify(body),
          }),
        ),
      );
    await post(path, { id: "docs" });
    for (const name of pagesOfDocs()) {
      const form = new FormData();
      const text = readFileSync(`${root}${name}`, "utf8");
      form.set("file", new File([text], name, { type: "text/markdown" }));
      const { status } = await post(`${path}/docs/items`, form);
      expect(status).toBe(200);
    }
    ask = async (question) => {
      const body = { messages: [{ role: "user", content: question }] };
      const response = await post(`${path}/docs/chat/completions`, body);
      const answer = (await response.json()) as { choices: { message: { content: string } }[] };
      return answer.choices[0]?.message.content ?? "";
    };
    close = () => platform.close();
  });
  afterAll(() => close());

  it("are useful for most of 30 questions that the documents answer", async () => {
    const missed: string[] = [];
    for (const [question, fact] of questions)
      if (!fact.test(await ask(question))) missed.push(question);
    // Five when this was written; the documents go on changing.
    expect(missed.length, missed.join("\n")).toBeLessThanOrEqual(8);
  });

  it("say that nothing was found for 18 of 20 questions about other things", async () => {
    const answered: string[] = [];
    for (const question of offTopic)
      if (!(await ask(question)).startsWith("Nothing was found")) answered.push(question);
    expect(answered.length, answered.join("\n")).toBeLessThanOrEqual(2);
  });
});
