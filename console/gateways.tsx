import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { GatewaySettings } from "../core/gateway/account/settings/settings.ts";
import { askResult, serverUrl } from "./api.ts";
import { CustomProviders } from "./custom-providers.tsx";
import { RecordForm } from "./form.tsx";
import { Guards } from "./guards.tsx";
import {
  accountPath,
  Action,
  change,
  changesOf,
  FactList,
  instant,
  Once,
  type PageProps,
  Table,
  useLoaded,
} from "./parts.tsx";
import { Prices } from "./prices.tsx";
import { ProviderKeys } from "./provider-keys.tsx";
import { Routes } from "./routes.tsx";
import { saveGateway } from "./save-gateway.ts";
import { TabList } from "./tab-list.tsx";

const views = ["Gateways", "Providers", "Prices"] as const;

/** The gateways of the account, and what they share: providers of your own, and prices. */
export function GatewaysPage(props: PageProps) {
  const [view, setView] = useState<(typeof views)[number]>("Gateways");
  return (
    <>
      <TabList label="Gateways" names={views} chosen={view} onChoose={setView} />
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${view}`} class="stack">
        {view === "Gateways" && <Gateways {...props} />}
        {view === "Providers" && <CustomProviders {...props} />}
        {view === "Prices" && <Prices {...props} />}
      </div>
    </>
  );
}

function Gateways({ facts, live }: PageProps) {
  const root = `${accountPath(facts.account)}/ai-gateway/gateways`;
  const changed = changesOf(live, "gateway", "platform");
  const gateways = useLoaded(
    () => askResult<readonly GatewaySettings[]>(`${root}?per_page=50`),
    [changed],
  );
  const [chosen, setChosen] = useState<string | null>(null);
  const open = gateways.value?.find(({ id }) => id === chosen) ?? gateways.value?.[0];
  return (
    <>
      <Table
        of={gateways}
        label="Gateways"
        head={["Gateway", "Authentication", "Requests at most", "Cache", "Log", "Created"]}
        none="No gateway yet. Make one below; the first request to “default” makes that one."
        rows={(gateways.value ?? []).map((one) => ({
          key: one.id,
          cells: [
            <button
              type="button"
              class="link"
              aria-pressed={one.id === open?.id}
              onClick={() => setChosen(one.id)}
            >
              {one.id}
            </button>,
            one.authentication ? "on" : <strong class="warn-text">off</strong>,
            limitOf(one),
            one.cache_ttl ? `${one.cache_ttl} s` : "off",
            one.collect_logs ? "on" : "off",
            instant(one.created_at),
          ],
        }))}
      />
      {open !== undefined && (
        <Details
          key={open.id}
          gateway={open}
          root={root}
          facts={facts}
          live={live}
          onChange={gateways.reload}
        />
      )}
      <section class="card" aria-labelledby="create-gateway">
        <h2 id="create-gateway">New gateway</h2>
        <NewGateway
          root={root}
          facts={facts}
          onMade={(id) => {
            setChosen(id);
            gateways.reload();
          }}
        />
      </section>
    </>
  );
}

function limitOf({
  rate_limiting_limit: limit,
  rate_limiting_interval: seconds,
}: GatewaySettings): string {
  return limit && seconds ? `${limit} in ${seconds} s` : "no limit";
}

interface DetailsProps extends PageProps {
  readonly gateway: GatewaySettings;
  readonly root: string;
  readonly onChange: () => void;
}

function Details({ gateway, root, facts, live, onChange }: DetailsProps) {
  const path = `${root}/${encodeURIComponent(gateway.id)}`;
  const { readOnly } = facts;
  const [token, setToken] = useState<string | null>(null);
  const makeToken = async (): Promise<void> => {
    const groups = await askResult<readonly { id: string }[]>(
      `${accountPath(facts.account)}/tokens/permission_groups?name=${encodeURIComponent("AI Gateway Run")}`,
    );
    const made = await change<{ value: string }>("POST", `${accountPath(facts.account)}/tokens`, {
      name: `Gateway ${gateway.id}`,
      policies: [
        {
          effect: "allow",
          permission_groups: groups.map(({ id }) => ({ id })),
          resources: {
            [`com.cloudflare.api.account.${facts.account}`]: {
              [`com.cloudflare.api.account.ai-gateway.${gateway.id}`]: "*",
            },
          },
        },
      ],
    });
    setToken(made.value);
  };
  return (
    <section class="card stack" aria-labelledby="gateway-title">
      <h2 id="gateway-title">{gateway.id}</h2>
      <FactList
        facts={[
          ["Address", <code>{`${serverUrl}/v1/${facts.account}/${gateway.id}/{provider}`}</code>],
          ["Retries", gateway.retry_max_attempts ?? "none"],
        ]}
      />
      <Settings gateway={gateway} path={path} readOnly={readOnly} onSaved={onChange} />
      <ProviderKeys path={path} readOnly={readOnly} changed={changesOf(live, "gateway")} />
      <Guards gateway={gateway} path={path} readOnly={readOnly} onSaved={onChange} />
      <Routes
        key={gateway.id}
        path={path}
        readOnly={readOnly}
        changed={changesOf(live, "gateway")}
      />
      {token !== null && <Once title="Gateway token" text={token} />}
      <div class="actions">
        <Action label="New gateway token" disabled={readOnly} onRun={makeToken} />
        <Action
          label="Delete gateway"
          confirm="This also deletes its settings, logs and counters."
          disabled={readOnly}
          onRun={async () => {
            await change("DELETE", path);
            onChange();
          }}
        />
      </div>
    </section>
  );
}

interface SettingsProps {
  readonly gateway: GatewaySettings;
  readonly path: string;
  readonly readOnly: boolean;
  readonly onSaved: () => void;
}

const settingFields = {
  authentication: { label: "Require a token", kind: "check" },
  collect: { label: "Keep log rows", kind: "check" },
  cache: {
    label: "Cache lifetime (seconds)",
    kind: "number",
    hint: "0: no answer is kept",
    input: { required: false },
  },
  limit: {
    label: "Requests per period",
    kind: "number",
    hint: "0: no limit",
    input: { required: false },
  },
  interval: { label: "Period (seconds)", kind: "number", input: { required: false } },
} as const;

function Settings({ gateway, path, readOnly, onSaved }: SettingsProps) {
  return (
    <RecordForm
      action="Save"
      isKept
      fields={settingFields}
      initial={{
        authentication: gateway.authentication ? "on" : "",
        collect: gateway.collect_logs ? "on" : "",
        cache: String(gateway.cache_ttl ?? 0),
        limit: String(gateway.rate_limiting_limit ?? 0),
        interval: String(gateway.rate_limiting_interval ?? 0),
      }}
      disabled={readOnly}
      onSave={async (values) => {
        const limit = Number(values.limit);
        await saveGateway(path, gateway, {
          authentication: values.authentication === "on",
          collect_logs: values.collect === "on",
          cache_ttl: Number(values.cache),
          rate_limiting_limit: limit,
          rate_limiting_interval: limit > 0 ? Number(values.interval) || 60 : 0,
        });
        onSaved();
      }}
    />
  );
}

interface NewGatewayProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly onMade: (id: string) => void;
}

const newFields = {
  id: {
    label: "Name",
    hint: "Small letters, digits, “-” and “_”. Callers need a token.",
    input: { pattern: String.raw`[a-z0-9_\-]{1,64}` },
  },
} as const;

function NewGateway({ root, facts, onMade }: NewGatewayProps) {
  return (
    <RecordForm
      action="Create"
      fields={newFields}
      disabled={facts.readOnly}
      onSave={async ({ id }) => {
        await change("POST", root, { id });
        onMade(id);
      }}
    />
  );
}
