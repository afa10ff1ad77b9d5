import { connect } from "#platform";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Authenticate } from "../../../../core/auth/authorize.ts";
import { storedTokens } from "../../../../core/auth/mod.ts";
import { sha256Hex } from "../../../../core/crypto/digest.ts";
import { gatewayEngine } from "../../../../core/gateway/engine.ts";
import { universalSockets } from "../../../../core/gateway/realtime/connect.ts";
import type { ActorRef } from "../../../../core/ports.ts";
import {
  API_TOKEN,
  chat,
  type GatewayUnderTest,
  gatewayUnderTest,
} from "../../../fakes/gateway-app.ts";
import { jsonReply } from "../../../fakes/gateway-transport.ts";
import { virtualKeys } from "../../../fakes/virtual-keys.ts";
import type { TestSocket } from "../../../platform/open-platform.d.ts";

const RUNNER = "a-token-that-runs-models";
const name = { account: "acme", gateway: "team" };

let isRevoked = false;
let gate: GatewayUnderTest;
let keys: ReturnType<typeof virtualKeys>;

const auth: Authenticate = (request) => {
  const token = request.headers.get("authorization");
  const isRunner = token === `Bearer ${RUNNER}` && !isRevoked;
  if (!isRunner && token !== `Bearer ${API_TOKEN}`) return Promise.resolve(null);
  const permissions = isRunner ? (["AI Gateway Run"] as const) : (["*"] as const);
  const grants = [{ permissions, accounts: ["acme"] }];
  return Promise.resolve({ id: isRunner ? "runner" : "all", kind: "token", grants });
};

beforeEach(async () => {
  isRevoked = false;
  gate = await gatewayUnderTest({ auth });
  gate.transport.behave = () => jsonReply({ choices: [] });
  keys = virtualKeys(gate);
  await gate.create("team", { authentication: true });
});
afterEach(() => gate.close());

async function opened(token: string): Promise<() => Promise<unknown>> {
  const sockets = universalSockets(gatewayEngine({ platform: gate.platform, auth }));
  const ref: ActorRef = {
    call: () => Promise.reject(new Error("Not called")),
    fetch: (request) => sockets.connect(request, name),
  };
  const socket: TestSocket = await connect(ref, [`cf-aig-authorization.${token}`]);
  const headers = { authorization: "Bearer sk" };
  const request = { provider: "openai", endpoint: "chat/completions", headers, query: chat };
  return async () => {
    socket.send(JSON.stringify({ type: "universal.create", request }));
    return JSON.parse(String(await socket.next()));
  };
}

describe("a universal WebSocket", () => {
  it("serves a virtual key until its secret is rotated", async () => {
    const { key, id } = await keys.make();
    const ask = await opened(key);
    expect(await ask()).toMatchObject({ type: "universal.created" });
    await gate.manage(`/virtual-keys/${id}/rotate`, { method: "POST", body: "{}" });
    expect(JSON.stringify(await ask())).toContain("rotated");
    expect(gate.transport.requests).toHaveLength(1);
  });

  it("counts a request for each of its messages, and none for itself", async () => {
    const limits = [{ limitType: "requests", limit: 2, window: 3600 }];
    const ask = await opened((await keys.make({ limits })).key);
    expect(await ask()).toMatchObject({ type: "universal.created" });
    expect(await ask()).toMatchObject({ type: "universal.created" });
    expect(JSON.stringify(await ask())).toContain("the virtual key allows 2");
  });

  it("serves an API token until it is revoked", async () => {
    const ask = await opened(RUNNER);
    expect(await ask()).toMatchObject({ type: "universal.created" });
    isRevoked = true;
    expect(JSON.stringify(await ask())).toContain("does not open this gateway any longer");
    expect(gate.transport.requests).toHaveLength(1);
  });
});

describe("the caller of a connection whose token is kept as a hash alone", () => {
  it("is found as long as the token is good", async () => {
    const tokens = [
      { token: RUNNER, permissions: ["AI Gateway Run"] as const, accounts: ["acme"] },
    ];
    const { platform } = gate;
    const { access } = gatewayEngine({ platform, auth: storedTokens(platform, { tokens }) });
    const again = async (token: string, account = "acme") => {
      const caller = { kind: "token", id: "x", tokenHash: await sha256Hex(token) } as const;
      return access.refreshCaller(caller, { ...name, account }, { token: null, counts: false });
    };
    expect(await again(RUNNER)).toMatchObject({ kind: "token" });
    const wrong = { kind: "gateway_unauthorized" };
    await expect(again("another-token-for-tests")).rejects.toMatchObject(wrong);
    await expect(again(RUNNER, "other")).rejects.toMatchObject(wrong);
  });
});
