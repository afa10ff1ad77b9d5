import { Hono } from "hono";
import { type AiBinding, createAiBinding, gatewayManagement } from "../../core/gateway/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { type Asked, askAiSdk } from "./ai-sdk.ts";

/** The account of {@link aiBindingApp}. */
const accountId = "local";

/**
 * A host program that uses the AI SDK by way of `createAiBinding()`: `POST /ask` takes a question and
 * answers with its outcome; the management API shows the log.
 */
export function aiBindingApp(platform: Platform, upstreamUrl: string): Hono {
  const options = {
    platform,
    auth: "off" as const,
    accountId,
    providers: {
      openai: { baseUrl: `${upstreamUrl}/v1`, apiKey: "sk-configured" },
      anthropic: { baseUrl: upstreamUrl },
      "google-ai-studio": { baseUrl: upstreamUrl },
      groq: { baseUrl: `${upstreamUrl}/v1` },
      // Nobody listens there.
      deepseek: { baseUrl: "http://127.0.0.1:9" },
    },
    gateways: { open: { authentication: false } },
  };
  const bindings = new Map<string, AiBinding>();
  const bindingOf = (gateway: string): AiBinding => {
    const binding = bindings.get(gateway) ?? createAiBinding({ ...options, gateway });
    bindings.set(gateway, binding);
    return binding;
  };
  const app = new Hono();
  app.post("/ask", async (c) => {
    const asked: Asked = await c.req.json();
    return c.json(await askAiSdk({ binding: bindingOf(asked.gateway) }, asked));
  });
  app.route("/client/v4", gatewayManagement(options));
  return app;
}
