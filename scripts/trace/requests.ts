import { createHmac } from "node:crypto";

/** A request that can be traced. */
export interface Traced {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The configured token of the traced server, and the secret of its webhook source. */
export const TOKEN = "trace-token-0123456789abcdef";
export const SECRET = "trace-secret-0123456789abcdef";

const event = JSON.stringify({ action: "created", repository: { full_name: "octo/hello" } });

/** The requests by the names that `npm run trace -- NAME` takes. `round` makes each delivery a new one. */
export const requests: Readonly<Record<string, (round: number) => Traced>> = {
  chat: () => ({
    path: "/v1/local/default/openai/chat/completions",
    headers: { "cf-aig-authorization": `Bearer ${TOKEN}`, authorization: "Bearer sk-trace" },
    body: JSON.stringify({ model: "gpt-4o", messages: [{ role: "user", content: "Hello" }] }),
  }),
  rendering: () => ({
    path: "/client/v4/accounts/local/browser-rendering/markdown",
    headers: { authorization: `Bearer ${TOKEN}` },
    body: JSON.stringify({
      html: "<h1>Ferries</h1><script>document.body.append('At noon')</script>",
    }),
  }),
  webhook: (round) => ({
    path: "/webhooks/github",
    headers: {
      "x-github-event": "star",
      "x-github-delivery": `00000000-0000-4000-8000-00000000000${round}`,
      "x-hub-signature-256": `sha256=${createHmac("sha256", SECRET).update(event).digest("hex")}`,
    },
    body: event,
  }),
};
