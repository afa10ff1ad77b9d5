import type { Authenticate } from "../../core/auth/authorize.ts";
import { type GatewayParts, gatewayParts, type ModelRouter } from "../../core/gateway/mod.ts";
import type { Log } from "../../core/ports.ts";
import {
  API_TOKEN,
  GATEWAY_TOKEN,
  type GatewayUnderTest,
  gatewayUnderTest,
  jsonInit,
} from "./gateway-app.ts";
import { type FakeTransport, fakeTransport, jsonReply } from "./gateway-transport.ts";

const platforms: GatewayUnderTest[] = [];

/** A platform takes 16 engines. */
const ENGINES = 16;
let engines = 0;

/** For the end of each test file: the next one may have the same modules, and takes platforms of its own. */
export async function closeRouted(): Promise<void> {
  for (const one of platforms.splice(0)) await one.close();
  engines = 0;
}

async function platformFor(): Promise<GatewayUnderTest> {
  if (engines++ % (ENGINES - 1) === 0) platforms.push(await gatewayUnderTest());
  const [newest] = platforms.slice(-1);
  if (newest === undefined) throw new Error("There is no platform");
  return newest;
}

export const price = (input: number, cached = input) => ({ input, output: input, cached });
/** `cheap` sees no images, `small` is small, `dear` can do everything. */
export const candidates = [
  { model: "openai/dear", price: price(10, 0.01) },
  { model: "groq/cheap", price: price(0.1), lacks: ["images"] },
  { model: "google/middle", price: price(1), lacks: ["tools"] },
] as const;
export const reply = {
  id: "c",
  object: "chat.completion",
  choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
export const hello = [{ role: "user", content: "hello" }];
export const tools = [{ type: "function", function: { name: "f", parameters: {} } }];

/** An engine of its own, so that no test sees another's sessions, over one platform. */
export interface Routed {
  readonly transport: FakeTransport;
  readonly rowsOf: GatewayUnderTest["rowsOf"];
  readonly aiBinding: GatewayParts["aiBinding"];
  /** Sends a request below `/v1/acme/`. */
  readonly send: (path: string, init: RequestInit) => Promise<Response>;
  /** Sends a REST inference request. */
  readonly infer: (path: string, init: RequestInit) => Promise<Response>;
}

const auth: Authenticate = (request) =>
  Promise.resolve(
    request.headers.get("authorization") === `Bearer ${API_TOKEN}`
      ? { id: "t", kind: "token", grants: [{ permissions: ["*"], accounts: ["acme"] }] }
      : null,
  );

export async function routed(
  router: Partial<ModelRouter> | null = {},
  log: Log = () => undefined,
): Promise<Routed> {
  const { platform, rowsOf } = await platformFor();
  const transport = fakeTransport(({ url }) =>
    url.includes("generativelanguage")
      ? jsonReply({ candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] })
      : jsonReply(reply),
  );
  const { gateway, management, aiBinding } = gatewayParts({
    platform: { ...platform, transport, log },
    auth,
    accountId: "acme",
    gateways: {
      open: { authentication: false, storedKeysForAnonymous: true },
      closed: { tokens: [GATEWAY_TOKEN] },
    },
    providers: {
      openai: { apiKey: "sk-openai" },
      groq: { apiKey: "sk-groq" },
      "google-ai-studio": { apiKey: "sk-google" },
    },
    ...(router === null ? {} : { router: { candidates, ...router } }),
  });
  return {
    transport,
    rowsOf,
    aiBinding,
    send: async (path, init) =>
      gateway.fetch(
        new Request(`http://gateway.test/v1/acme/${path}`, { method: "POST", ...init }),
      ),
    infer: async (path, init) => {
      const request = new Request(`http://gateway.test/accounts/acme/ai/${path}`, {
        method: "POST",
        ...init,
      });
      request.headers.set("authorization", `Bearer ${API_TOKEN}`);
      return management.fetch(request);
    },
  };
}

/** A chat for `cloudflare/auto`, and what the answer says of its route. */
export async function ask(
  on: Routed,
  headers: Record<string, string> = {},
  body: object = {},
  path = "open/compat/chat/completions",
): Promise<{ status: number; model: string | null; reason: string | null; text: string }> {
  const response = await on.send(
    path,
    jsonInit({ model: "cloudflare/auto", messages: hello, ...body }, headers),
  );
  return {
    status: response.status,
    model: response.headers.get("cf-aig-routed-model"),
    reason: response.headers.get("cf-aig-routing-reason"),
    text: await response.text(),
  };
}
