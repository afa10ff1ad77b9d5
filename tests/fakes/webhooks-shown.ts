// The code of docs/webhooks/answers.md and docs/webhooks/endpoints.md, which tests run and compare with the page: what stands between two marks is shown.
import { defineAgent } from "../../core/agents/mod.ts";
import { defineScheme, type Scheme } from "../../core/webhooks/mod.ts";

// shown: voice
export const switchboard = defineAgent({
  name: "switchboard",
  initialState: { calls: 0 },
  async onEvent(agent) {
    await agent.setState({ calls: agent.state.calls + 1 });
    const twiml = `<Response><Say>You are caller ${agent.state.calls}</Say></Response>`;
    return new Response(twiml, { headers: { "content-type": "text/xml" } });
  },
});
// end

// shown: handshakes
const acme = defineScheme({
  signature: ["header:x-acme-signature"],
  handshakes: [
    // GET ?check=… is answered with {"proof": "…"}.
    { method: "GET", answer: { json: { proof: { hmac: "query:check", encoding: "hex" } } } },
    // {"kind": "hello", "nonce": "…"} is answered with the nonce, if it is signed.
    { method: "POST", when: { "body:kind": "hello" }, answer: { text: "body:nonce" } },
  ],
});
// end

// shown: filter
export const bigOrders = {
  country: { $in: ["DE", "AT", "CH"] },
  total: { $gte: 100 },
  $or: [{ sku: { $prefix: "tool-" } }, { "customer.plan": "pro" }],
  test: { $exists: false },
};
// end

/** A payload that fulfils the filter. */
export const shownPayload = { country: "AT", total: 100, sku: "tool-3" };

export const shownScheme: Scheme = acme;
