/** A request to a gateway that can be made again. */
export interface StoredRequest {
  /** From the root of the server on. */
  readonly path: string;
  /** The body, as it is kept. */
  readonly request: string;
}

/** A command for a shell. The token stays a variable, because the text may be pasted anywhere. */
export function curlOf(origin: string, { path, request }: StoredRequest): string {
  const word = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
  return [
    `curl ${origin}${path}`,
    '-H "cf-aig-authorization: Bearer $CAUSEY_TOKEN"',
    "-H 'Content-Type: application/json'",
    `-d ${word(request)}`,
  ].join(" \\\n  ");
}

/**
 * The same in JavaScript: by the official client of the format if the path is one of its own, else by `fetch`. A body
 * that was cut off, and so is malformed JSON, stays a text.
 */
export function sdkCallOf(origin: string, { path, request }: StoredRequest): string {
  const value = literal(request);
  const token = "`Bearer ${process.env.CAUSEY_TOKEN}`";
  const client = clients.find(({ ending }) => path.endsWith(ending));
  if (client === undefined || value === null) {
    const body = value === null ? JSON.stringify(request) : `JSON.stringify(${value})`;
    return `const response = await fetch(${JSON.stringify(origin + path)}, {
  method: "POST",
  headers: {
    "content-type": "application/json",
    "cf-aig-authorization": ${token},
  },
  body: ${body},
});
console.log(await response.text());
`;
  }
  const base = origin + path.slice(0, -client.ending.length);
  return `import ${client.name} from "${client.module}";

const client = new ${client.name}({
  baseURL: ${JSON.stringify(base)},
  // The provider's key; not needed where the gateway stores one.
  apiKey: process.env.PROVIDER_API_KEY ?? "",
  defaultHeaders: { "cf-aig-authorization": ${token} },
});
console.log(await client.${client.method}(${value}));
`;
}

/** The clients, each with the path that it adds to its base address and the method that sends there. */
const clients = [
  {
    ending: "/chat/completions",
    name: "OpenAI",
    module: "openai",
    method: "chat.completions.create",
  },
  { ending: "/responses", name: "OpenAI", module: "openai", method: "responses.create" },
  { ending: "/embeddings", name: "OpenAI", module: "openai", method: "embeddings.create" },
  {
    ending: "/v1/messages",
    name: "Anthropic",
    module: "@anthropic-ai/sdk",
    method: "messages.create",
  },
];

function literal(text: string): string | null {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}
