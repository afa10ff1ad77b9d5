// The page of use-agent.test.ts: the public React hook as its documentation shows it, unmodified.
import { useAgent } from "agents/react";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

/** What happened on the page, for the test to read. */
const seen = { opened: 0, closed: [], identities: [], states: [] };

function App() {
  const asked = new URLSearchParams(location.search);
  const agent = useAgent({
    agent: "TallyAgent",
    name: asked.get("name") ?? "default",
    host: asked.get("host") ?? "",
    query: { token: asked.get("token") ?? "" },
    onOpen: () => void (seen.opened += 1),
    onClose: ({ code }) => void seen.closed.push(code),
    onIdentity: (name, kind) => void seen.identities.push(`${kind} ${name}`),
    onStateUpdate: (state, source) => void seen.states.push(`${source} ${state.count}`),
  });
  Object.assign(globalThis, { agent, seen });
  return createElement("output", null, String(agent.state?.count ?? "none"));
}

const root = document.getElementById("root");
if (root !== null) createRoot(root).render(createElement(App));
