import "./locale.ts";
import { render } from "preact";
import { useState } from "preact/hooks";
import type { PortalView } from "../core/webhooks/portal/portal-routes.ts";
import { askAs, askResult } from "./api.ts";
import { Outbound } from "./outbound.tsx";
import { instant, useLoaded, Waiting } from "./parts.tsx";

/** The page of a customer, who has a link to the webhooks of one application. */
function Portal() {
  const view = useLoaded(() => askResult<PortalView>(""), []);
  const { value } = view;
  return (
    <div class="shell">
      <header>
        <span class="brand">Webhooks</span>
        {value?.read_only === true && <span class="badge">Read only</span>}
      </header>
      <main id="content" tabIndex={-1}>
        <h1>{value?.name ?? value?.application ?? "Webhooks"}</h1>
        <Waiting of={view} />
        {value !== null && <Own view={value} />}
      </main>
    </div>
  );
}

function Own({ view }: { readonly view: PortalView }) {
  const [changed, setChanged] = useState(0);
  return (
    <div class="stack">
      <p class="muted">
        This link can be used until {instant(view.expires_at)}.{" "}
        <button type="button" onClick={() => setChanged(changed + 1)}>
          Refresh
        </button>
      </p>
      <Outbound root="" readOnly={view.read_only} changed={String(changed)} />
    </div>
  );
}

/** The session's name for the link's token, which is removed from the address and must survive a reload. */
const TOKEN = "causey-portal";

// Out of the address at once: it must not be in the history, nor be copied with it.
const given = location.hash.slice(1);
if (given !== "") {
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname);
}
askAs(
  new URL("../client/v4/webhook-portal", import.meta.url).href,
  `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}`,
);
const place = document.getElementById("app");
if (place !== null) {
  place.textContent = "";
  render(<Portal />, place);
}
