import { useState } from "preact/hooks";
import type { SessionFacts } from "../core/console/mod.ts";
import type { GatewaySettings } from "../core/gateway/account/settings/settings.ts";
import { askResult } from "./api.ts";
import { Field, Form, MakeForm, useRun } from "./form.tsx";
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
  Waiting,
} from "./parts.tsx";
import { Routes } from "./routes.tsx";

/** The gateways of the account, and their settings. */
export function GatewaysPage({ facts, live }: PageProps) {
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
      <Waiting of={gateways} />
      <Table
        label="Gateways"
        head={["Gateway", "Authentication", "Requests at most", "Cache", "Log", "Created"]}
        none="No gateway yet. The first request to one makes it, or the form below does."
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
  return limit ? `${limit} in ${seconds} s` : "no limit";
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
          [
            "Address",
            <code>{`${location.origin}/v1/${facts.account}/${gateway.id}/{provider}`}</code>,
          ],
          ["Retries", gateway.retry_max_attempts ?? "none"],
        ]}
      />
      <Settings gateway={gateway} path={path} readOnly={readOnly} onSaved={onChange} />
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
          confirm="Its settings, logs and counters go with it."
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

function Settings({ gateway, path, readOnly, onSaved }: SettingsProps) {
  const state = useRun();
  const [form, setForm] = useState({
    authentication: gateway.authentication,
    collect: gateway.collect_logs,
    cache: String(gateway.cache_ttl ?? 0),
    limit: String(gateway.rate_limiting_limit ?? 0),
    interval: String(gateway.rate_limiting_interval ?? 0),
  });
  const save = async (): Promise<void> => {
    const limit = Number(form.limit);
    await change("PUT", path, {
      authentication: form.authentication,
      collect_logs: form.collect,
      cache_ttl: Number(form.cache),
      cache_invalidate_on_update: gateway.cache_invalidate_on_update,
      rate_limiting_limit: limit,
      rate_limiting_interval: limit > 0 ? Number(form.interval) || 60 : 0,
      rate_limiting_technique: gateway.rate_limiting_technique ?? "sliding",
    });
    onSaved();
  };
  const number = (label: string, name: "cache" | "limit" | "interval") => (
    <Field
      label={label}
      value={form[name]}
      input={{ type: "number", min: 0, required: false }}
      onInput={(value) => setForm({ ...form, [name]: value })}
    />
  );
  const choice = (label: string, name: "authentication" | "collect") => (
    <label class="choice">
      <input
        type="checkbox"
        checked={form[name]}
        onChange={(event) => setForm({ ...form, [name]: event.currentTarget.checked })}
      />
      {label}
    </label>
  );
  return (
    <Form action="Save" state={state} disabled={readOnly} onRun={save}>
      <div class="columns">
        <div class="form">
          {choice("Callers need a token", "authentication")}
          {choice("Keep log rows", "collect")}
          {number("Cache answers for so many seconds (0 = not)", "cache")}
        </div>
        <div class="form">
          {number("Requests at most (0 = no limit)", "limit")}
          {number("in so many seconds", "interval")}
        </div>
      </div>
    </Form>
  );
}

interface NewGatewayProps {
  readonly root: string;
  readonly facts: SessionFacts;
  readonly onMade: (id: string) => void;
}

function NewGateway({ root, facts, onMade }: NewGatewayProps) {
  const make = async (id: string): Promise<void> => {
    await change("POST", root, {
      id,
      authentication: true,
      cache_invalidate_on_update: false,
      cache_ttl: 0,
      collect_logs: true,
      rate_limiting_interval: 0,
      rate_limiting_limit: 0,
      rate_limiting_technique: "sliding",
    });
    onMade(id);
  };
  return (
    <MakeForm
      action="Create"
      label="Name"
      input={{ pattern: String.raw`[a-z0-9_\-]{1,64}`, "aria-describedby": "gateway-hint" }}
      disabled={facts.readOnly}
      onMake={make}
    >
      <p id="gateway-hint" class="muted small">
        Small letters, digits, “-” and “_”. Callers need a token from the start.
      </p>
    </MakeForm>
  );
}
