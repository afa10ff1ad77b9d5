// The code of docs/webhooks/answers.md, which tests run and compare with the page: what stands between two marks is shown.
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

export const shownScheme: Scheme = acme;
