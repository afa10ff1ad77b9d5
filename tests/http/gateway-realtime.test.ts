import { randomUUID } from "node:crypto";
import { describe, expect, inject, it } from "vitest";
import { eventually } from "../cases/eventually.ts";
import { gatewayToken } from "./prepare-target.ts";
import {
  account,
  arrival,
  connect,
  guarded,
  refused,
  seenBy,
  token,
} from "../fakes/realtime-client.ts";

describe("who may open a realtime connection", () => {
  it("is refused with 401 before the upgrade, and the provider hears nothing", async () => {
    const test = randomUUID();
    for (const headers of [{}, { "cf-aig-authorization": "Bearer wrong" }]) {
      const refusal = await refused(`openai?test=${test}`, { gateway: "guarded", headers });
      expect(refusal.status).toBe(401);
      expect(JSON.parse(refusal.body)).toMatchObject({
        success: false,
        error: [{ code: 2009 }],
        errors: [{ code: 2009 }],
      });
    }
    const protocols = ["realtime", "cf-aig-authorization.wrong"];
    const refusal = await refused(`openai?test=${test}`, { gateway: "guarded", protocols });
    expect(refusal.status).toBe(401);
    expect(await seenBy(test)).toEqual([]);
  });

  it("shows its token in a header, bare or as Bearer, or in a subprotocol", async () => {
    for (const options of [
      { headers: guarded },
      { headers: { "gw-aig-authorization": gatewayToken } },
      { protocols: [`cf-aig-authorization.${gatewayToken}`] },
      { protocols: ["realtime", `gw-aig-authorization.${gatewayToken}`] },
    ]) {
      const seen = await arrival("openai?model=m", { gateway: "guarded", ...options });
      expect(JSON.stringify(seen)).not.toContain(gatewayToken);
      expect(seen.url).toBe("/v1/realtime?model=m");
    }
  });

  it("is answered the subprotocol that the provider selected, else one that it offered", async () => {
    const auth = `cf-aig-authorization.${gatewayToken}`;
    const other = await refused("openai?model=m", { headers: guarded, protocols: ["other"] });
    expect(other.status).toBe(502);
    for (const [protocols, selected] of [
      [[auth, "realtime"], "realtime"],
      [[auth], auth],
    ] as const) {
      const client = await connect("openai?model=m", { gateway: "guarded", protocols });
      expect(client.socket.protocol).toBe(selected);
      client.socket.terminate();
    }
  });

  it("cannot have the gateway token travel in the query or in another subprotocol", async () => {
    const seen = await arrival(`openai?model=m&key=${gatewayToken}`, {
      headers: guarded,
      protocols: ["realtime", `stolen.${gatewayToken}`],
    });
    expect(JSON.stringify(seen)).not.toContain(gatewayToken);
  });
});

describe("where a realtime connection leads", () => {
  it("takes keys of browsers out of the subprotocols and puts them where the provider reads them", async () => {
    const openai = await arrival("openai?model=m", {
      protocols: ["realtime", "openai-insecure-api-key.sk-1"],
    });
    expect(openai.headers["authorization"]).toBe("Bearer sk-1");
    expect(openai.headers["sec-websocket-protocol"]).toBe("realtime");
    const eleven = await arrival("elevenlabs?agent_id=a", { protocols: ["xi-api-key.xi-1"] });
    expect([eleven.url, eleven.headers["xi-api-key"]]).toEqual([
      "/v1/convai/conversation?agent_id=a",
      "xi-1",
    ]);
    const fal = await arrival("fal/fal-ai/model", { protocols: ["fal-api-key.f-1"] });
    expect([fal.url, fal.headers["authorization"]]).toEqual(["/fal-ai/model", "Key f-1"]);
    const deepgram = await arrival("deepgram?encoding=linear16", { protocols: ["token", "d-1"] });
    expect([deepgram.url, deepgram.headers["authorization"]]).toEqual([
      "/v1/listen?encoding=linear16",
      "Token d-1",
    ]);
  });

  it("knows the paths of the providers", async () => {
    expect((await arrival("google?api_key=g-1")).url).toBe(
      "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=g-1",
    );
    expect((await arrival("cartesia?cartesia_version=2024-06-10&api_key=c-1")).url).toBe(
      "/tts/websocket?cartesia_version=2024-06-10&api_key=c-1",
    );
    expect((await arrival("workers-ai?model=@cf/deepgram/nova-3&encoding=linear16")).url).toBe(
      "/ai/run/@cf/deepgram/nova-3?encoding=linear16",
    );
    expect((await arrival("openai/realtime?model=m")).url).toBe("/v1/realtime?model=m");
    expect((await arrival("openai/v1/realtime?model=m")).url).toBe("/v1/realtime?model=m");
  });

  it("sends the configured key when the client has none, and only then", async () => {
    const none = await arrival("elevenlabs?agent_id=a");
    expect(none.headers["xi-api-key"]).toBe("xi-configured-key");
    const own = await arrival("elevenlabs?agent_id=a", { headers: { "xi-api-key": "mine" } });
    expect(own.headers["xi-api-key"]).toBe("mine");
    const other = await arrival("elevenlabs?agent_id=a", {
      protocols: ["openai-insecure-api-key.sk-1"],
    });
    expect(JSON.stringify(other)).not.toContain("sk-1");
  });

  it("passes headers that are the provider's and holds back those of the gateway and of the hop", async () => {
    const seen = await arrival("openai?model=m", {
      headers: {
        authorization: "Bearer sk",
        "openai-beta": "realtime=v1",
        "cf-aig-metadata": '{"a":1}',
        "x-forwarded-for": "10.0.0.1",
      },
    });
    expect(seen.headers).toMatchObject({
      authorization: "Bearer sk",
      "openai-beta": "realtime=v1",
    });
    expect(Object.keys(seen.headers).filter((name) => /aig|forwarded/.test(name))).toEqual([]);
  });

  it("hands on the status and the body of a provider that refuses", async () => {
    const refusal = await refused("openai?model=m&mode=refuse");
    expect([refusal.status, refusal.body, refusal.headers["x-kept"]]).toEqual([
      401,
      '{"error":{"message":"no such key"}}',
      "yes",
    ]);
  });

  it("answers 502 / 2005 when the provider cannot be reached, 400 when there is none", async () => {
    const dead = await refused("deepseek/realtime");
    expect([dead.status, dead.body]).toEqual([502, expect.stringContaining('"code":2005')]);
    const unknown = await refused("nobody/realtime");
    expect([unknown.status, unknown.body]).toEqual([400, expect.stringContaining('"code":2008')]);
    expect((await refused("mistral")).status).toBe(400);
  });
});

describe("a gateway with checks", () => {
  async function makeGateway(action: "BLOCK" | "FLAG"): Promise<string> {
    const id = `rt-${randomUUID().slice(0, 8)}`;
    const url = `${inject("baseUrl")}/client/v4/accounts/${account}/ai-gateway/gateways`;
    const settings = {
      id,
      authentication: false,
      cache_invalidate_on_update: false,
      cache_ttl: null,
      collect_logs: true,
      rate_limiting_interval: null,
      rate_limiting_limit: null,
      dlp: { enabled: true, action, profiles: ["financial"] },
    };
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const made = await fetch(url, { method: "POST", headers, body: JSON.stringify(settings) });
    expect(made.status).toBe(200);
    return id;
  }

  it("lets no WebSocket pass unchecked when it blocks, and any when it only flags", async () => {
    const refusal = await refused("openai?model=m", { gateway: await makeGateway("BLOCK") });
    expect([refusal.status, refusal.body]).toEqual([503, expect.stringContaining("7013")]);
    const client = await connect("openai?model=m", { gateway: await makeGateway("FLAG") });
    client.socket.send("hello");
    expect(await client.next()).toBe("hello");
    client.socket.close();
  });
});

describe("a provider that does not accept", () => {
  it("is waited for no longer than asked", async () => {
    const test = randomUUID();
    const headers = { "cf-aig-request-timeout": "200" };
    const refusal = await refused(`openai?model=m&mode=silent&test=${test}`, { headers });
    expect([refusal.status, refusal.body]).toEqual([502, expect.stringContaining('"code":2005')]);
    await eventually(async () => (await seenBy(test))[0]?.gone === true, "the attempt is over");
  });

  it("leaves no secret in the answer or in the log", async () => {
    const eventId = randomUUID();
    const headers = { ...guarded, "cf-aig-event-id": eventId, "x-api-key": "s3cret-header" };
    const protocols = ["realtime", "openai-insecure-api-key.s3cret-protocol"];
    const query = "api_key=s3cret-query&key=s3cret-key&access_token=s3cret-token";
    for (const path of ["deepseek/realtime", "openai/v1/realtime"]) {
      const refusal = await refused(`${path}?${query}&mode=refuse`, { headers, protocols });
      expect(refusal.status).toBeGreaterThanOrEqual(400);
      expect(JSON.stringify(refusal)).not.toMatch(/s3cret|gateway-token/);
    }
    const logs = `${inject("baseUrl")}/client/v4/accounts/${account}/ai-gateway/gateways/open/logs`;
    const authorization = { authorization: `Bearer ${token}` };
    const found = async (): Promise<string> => {
      const filter = `filters.key=event_id&filters.operator=eq&filters.value=${eventId}`;
      return (await fetch(`${logs}?${filter}`, { headers: authorization })).text();
    };
    const rowsIn = (text: string): unknown[] => (JSON.parse(text) as { result: unknown[] }).result;
    await eventually(async () => rowsIn(await found()).length === 2, "the rows are written");
    expect(await found()).not.toMatch(/s3cret|gateway-token/);
  });
});

describe("a stranger on a gateway without authentication", () => {
  it("gets no connection that the operator's key would pay for", async () => {
    const refusal = await refused("elevenlabs", { gateway: "strangers" });
    expect(refusal.status).toBe(401);
    expect(refusal.body).toContain("only for requests with a gateway token");
    const own = { "xi-api-key": "key-of-the-caller" };
    const client = await connect("elevenlabs", { gateway: "strangers", headers: own });
    client.socket.close();
    await client.closed;
  });
});
