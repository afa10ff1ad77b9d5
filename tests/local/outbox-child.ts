// One life of a server whose agent sells and sends: RUNTIME DATA_DIR LIFE. Life 0 sells nothing: its queues run.
// Prints `sold` for each sale that is stored.
import { writeSync } from "node:fs";
import { agents, defineAgent, getAgentByName } from "../../core/agents/mod.ts";
import type { Platform } from "../../core/ports.ts";
import { webhooksManagement } from "../../core/webhooks/mod.ts";
import type { LocalPlatformOptions } from "../../adapters/shared/local-platform.ts";

const [runtime = "node", dataDir = "", life = "1"] = process.argv.slice(2);
const adapter = (await import(`../../adapters/${runtime}/mod.ts`)) as Record<string, unknown>;
const open = adapter[`${runtime}Platform`] as (options: LocalPlatformOptions) => Promise<Platform>;
const platform = await open({ dataDir, chromiumPath: "/nowhere" });
const tell = (line: string): void => void writeSync(1, `${line}\n`);

const shop = defineAgent({
  name: "outbox-shop",
  initialState: { sold: 0 },
  callable: {
    sell: (agent) =>
      agent.transaction((tx) => {
        const sold = agent.state.sold + 1;
        tx.setState({ sold });
        tx.webhooks.send({ type: "shop.sold", payload: { sold } });
      }),
  },
});
webhooksManagement({ platform, auth: "off", sources: {} });
agents({ platform, auth: "off", agents: [shop], sendsWebhooks: true });
tell("ready");
if (life !== "0")
  for (;;) {
    await getAgentByName(platform, shop, "main").sell();
    tell("sold");
  }
await platform.system.sleep(3_600_000);
