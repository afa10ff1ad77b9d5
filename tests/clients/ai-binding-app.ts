import { Hono } from "hono";
import { type AiBinding, gatewayParts } from "../../core/gateway/mod.ts";
import { resumableStreams } from "../../core/gateway/resume/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { type Asked, askAiSdk } from "./ai-sdk.ts";
import { cutAfter } from "./cut-stream.ts";

/** A question by way of a gateway whose streams can be resumed. */
export interface LastingQuestion extends Asked {
  /** Events of the first answer after which it breaks off. */
  readonly cut: number;
}

/** The account of {@link aiBindingApp}. */
const accountId = "local";

/**
 * A host program that uses the AI SDK by way of a binding, beside the gateway that it shares an engine with:
 * `POST /ask` takes a question and answers with its outcome; the management API shows the log. Below `/lasting`
 * there is all of it once more, with streams that can be resumed, below `/alive` a gateway that fills silence.
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
  const parts = gatewayParts(options);
  const lasting = gatewayParts({ ...options, resume: resumableStreams() });
  const app = new Hono();
  app.post("/ask", async (c) => {
    const asked: Asked = await c.req.json();
    return c.json(await askAiSdk({ binding: parts.aiBinding(asked.gateway) }, asked));
  });
  app.post("/lasting/ask", async (c) => {
    const asked: LastingQuestion = await c.req.json();
    const binding = breaking(lasting.aiBinding(asked.gateway), asked.cut);
    const resume = { binding, gateway: asked.gateway };
    return c.json(await askAiSdk({ binding, resume }, asked));
  });
  app.route("/alive", gatewayParts({ ...options, sseKeepAliveSeconds: 0.05 }).gateway);
  app.route("/", parts.gateway);
  app.route("/client/v4", parts.management);
  app.route("/lasting", lasting.gateway);
  app.route("/lasting/client/v4", lasting.management);
  return app;
}

/** A binding whose answers break off on the way. */
function breaking(binding: AiBinding, cut: number): AiBinding {
  return {
    ...binding,
    async run(steps, options) {
      const { body, status, headers } = await binding.run(steps, options);
      return new Response(body && cutAfter(body, cut), { status, headers });
    },
  };
}
