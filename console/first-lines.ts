/** The lines of the first steps, by the program that takes them. */
export type FirstLines = Readonly<Record<string, string>>;

/** The server and the account that lines name. */
interface Place {
  readonly server: string;
  readonly account: string;
}

/**
 * Lines for a shell or a file; the token stays a variable, because they may be pasted anywhere. `source` is a source of
 * webhooks with the scheme `generic`, if there is one.
 */
export function firstLines(
  server: string,
  account: string,
  source: string | null,
): Readonly<Record<"ask" | "provider" | "key" | "file" | "webhook", FirstLines>> {
  const place = { server, account };
  return {
    ask: askLines(place),
    provider: providerLines(place),
    key: keyLines(place),
    file: fileLines(place),
    webhook: webhookLines(place, source),
  };
}

function askLines(place: Place): FirstLines {
  return {
    curl: `curl ${place.server}/v1/chat/completions \\
  -H "Authorization: Bearer $CAUSEY_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"model": "echo/echo", "messages": [{"role": "user", "content": "Hello"}]}'`,
    "OpenAI SDK": openai(place, "CAUSEY_TOKEN", "echo/echo"),
  };
}

function providerLines(place: Place): FirstLines {
  return {
    curl: post(
      place,
      "/ai-gateway/gateways/default/provider_configs",
      `'{"provider_slug": "openai", "alias": "default", "default_config": true, "secret": "'"$OPENAI_API_KEY"'"}'`,
    ),
    "cloudflare SDK": cloudflare(
      place,
      `const stored = await client.aiGateway.providerConfigs.create("default", {
  ${ownerOf(place)},
  alias: "default",
  default_config: true,
  provider_slug: "openai",
  secret: process.env.OPENAI_API_KEY,
});
console.log(stored.secret_preview);`,
    ),
    "OpenAI SDK": openai(place, "CAUSEY_TOKEN", "openai/gpt-5-mini"),
  };
}

function keyLines(place: Place): FirstLines {
  return {
    curl: post(
      place,
      "/ai-gateway/virtual-keys",
      `'{"name": "Ann", "limits": [{"limitType": "requests", "limit": 100, "window": "day"}]}'`,
    ),
    "cloudflare SDK": cloudflare(
      place,
      `const { result } = await client.post(${JSON.stringify(`/accounts/${place.account}/ai-gateway/virtual-keys`)}, {
  body: { name: "Ann", limits: [{ limitType: "requests", limit: 100, window: "day" }] },
});
console.log(result.key);`,
    ),
    "OpenAI SDK": openai(place, "VIRTUAL_KEY", "echo/echo"),
  };
}

function fileLines(place: Place): FirstLines {
  const owner = ownerOf(place);
  return {
    curl: `${post(place, "/ai-search/instances", `'{"id": "notes"}'`)}
printf '# Ferries\\n\\nThe ferry leaves at noon.\\n' > ferry.md
curl ${apiOf(place)}/ai-search/instances/notes/items \\
  -H "Authorization: Bearer $CAUSEY_TOKEN" \\
  -F file=@ferry.md -F wait_for_completion=true`,
    "cloudflare SDK": cloudflare(
      place,
      `const { instances } = client.aiSearch.namespaces;
const own = { ${owner}, name: "default" };
await instances.create("default", { ${owner}, id: "notes" });
const file = new File(["# Ferries\\n\\nThe ferry leaves at noon."], "ferry.md");
await instances.items.upload("notes", { ...own, file: { file, wait_for_completion: true } });
const messages = [{ role: "user", content: "When does the ferry leave?" }];
const answer = await instances.chatCompletions("notes", { ...own, messages });
console.log(answer.choices[0].message.content);`,
    ),
  };
}

function webhookLines({ server }: Place, source: string | null): FirstLines {
  const github = { scheme: "github", secret: "env:GITHUB_WEBHOOK_SECRET" };
  return {
    ...(source !== null && {
      curl: `BODY='{"entity": "ann", "type": "greeting"}'
SIGNATURE=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$WEBHOOK_SECRET" -r | cut -d' ' -f1)
curl ${server}/webhooks/${source} \\
  -H 'Content-Type: application/json' \\
  -H "X-Signature: sha256=$SIGNATURE" \\
  -d "$BODY"`,
    }),
    "causey.json": JSON.stringify({ webhooks: { sources: { github } } }, null, 2),
  };
}

function apiOf({ server, account }: Place): string {
  return `${server}/client/v4/accounts/${account}`;
}

function ownerOf({ account }: Place): string {
  return `account_id: ${JSON.stringify(account)}`;
}

function post(place: Place, path: string, json: string): string {
  return [
    `curl ${apiOf(place)}${path}`,
    '-H "Authorization: Bearer $CAUSEY_TOKEN"',
    "-H 'Content-Type: application/json'",
    `-d ${json}`,
  ].join(" \\\n  ");
}

/** A chat by the official client of OpenAI, whose key is a variable. */
function openai({ server }: Place, key: string, model: string): string {
  return `import OpenAI from "openai";

const client = new OpenAI({ baseURL: ${JSON.stringify(`${server}/v1`)}, apiKey: process.env.${key} });
const answer = await client.chat.completions.create({
  model: ${JSON.stringify(model)},
  messages: [{ role: "user", content: "Hello" }],
});
console.log(answer.choices[0].message.content);
`;
}

function cloudflare({ server }: Place, call: string): string {
  return `import Cloudflare from "cloudflare";

const client = new Cloudflare({
  apiToken: process.env.CAUSEY_TOKEN,
  baseURL: ${JSON.stringify(`${server}/client/v4`)},
});
${call}
`;
}
