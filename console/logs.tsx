import { useState } from "preact/hooks";
import { GatewayLog } from "./gateway-log.tsx";
import { LiveLog } from "./live-log.tsx";
import type { PageProps } from "./parts.tsx";
import { TabList } from "./tab-list.tsx";

const views = ["Gateway", "Live"] as const;

/** The stored requests of the gateways, and those of the whole server as they come. */
export function LogsPage(props: PageProps) {
  const [view, setView] = useState<(typeof views)[number]>("Gateway");
  return (
    <>
      <TabList label="Logs" names={views} chosen={view} onChoose={setView} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${view}`}>
        {view === "Gateway" ? <GatewayLog {...props} /> : <LiveLog {...props} />}
      </div>
    </>
  );
}
