import { readdirSync, readFileSync } from "node:fs";
import type { PlatformApi } from "causey";

/** An answer, and the pages of the handbook that it comes from. */
export interface Answer {
  readonly answer: string;
  readonly sources: readonly string[];
}

/** What the route for chat answers, as far as it is used here. */
interface Reply {
  readonly choices: readonly { readonly message: { readonly content: string } }[];
  readonly chunks: readonly { readonly item: { readonly key: string } }[];
}

const INSTANCES = "/client/v4/accounts/local/ai-search/instances";
const DESK = `${INSTANCES}/help-desk`;

/** Puts the pages of `handbook/` into a search instance, which then answers questions. */
export async function helpDesk(
  api: PlatformApi,
  token: string,
): Promise<{ ask(question: string): Promise<Answer> }> {
  // The log has the questions of visitors, and not what the program asks itself at its start.
  const call = async (path: string, body?: FormData | object, fetch = api.quietFetch) => {
    const headers = { authorization: `Bearer ${token}` };
    const url = `http://localhost${path}`;
    if (body === undefined) return fetch(new Request(url, { headers }));
    const sent = body instanceof FormData ? body : JSON.stringify(body);
    const response = await fetch(new Request(url, { method: "POST", headers, body: sent }));
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response;
  };
  if (!(await call(DESK)).ok) await call(INSTANCES, { id: "help-desk" });
  for (const name of readdirSync("handbook")) {
    const form = new FormData();
    form.set("file", new File([readFileSync(`handbook/${name}`)], name, { type: "text/markdown" }));
    form.set("wait_for_completion", "true");
    await call(`${DESK}/items`, form);
  }
  return {
    async ask(question) {
      const messages = [{ role: "user", content: question }];
      const response = await call(`${DESK}/chat/completions`, { messages }, api.fetch);
      const { choices, chunks } = JSON.parse(await response.text()) as Reply;
      const sources = [...new Set(chunks.map(({ item }) => item.key))];
      return { answer: choices[0]?.message.content ?? "", sources };
    },
  };
}
