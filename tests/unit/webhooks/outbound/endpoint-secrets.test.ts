import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openPlatform } from "#platform";
import type { ActorKind, Plain, Platform } from "../../../../core/ports.ts";
import { outboundSchema } from "../../../../core/webhooks/outbound/outbound-schema.ts";
import { startSealer } from "../../../../core/webhooks/outbound/sealer.ts";
import { endpointSecrets } from "../../../../core/webhooks/outbound/endpoint-secrets.ts";

/** Seals and opens inside an actor, as the outbound side does, under the master secrets that a call names. */
const probe: ActorKind = {
  name: "outbound-secrets-probe",
  schema: outboundSchema,
  start: (context) => ({
    methods: {
      seal: (master: string | undefined, secret: string) =>
        endpointSecrets(context, startSealer(context, master)).first("e1", secret),
      open: (master: string | undefined, former: readonly string[], secrets: string) =>
        endpointSecrets(context, startSealer(context, master, former)).open({
          id: "e1",
          secrets,
        }),
    },
  }),
};

describe("endpointSecrets()", () => {
  let platform: Platform;
  beforeAll(async () => {
    platform = await openPlatform();
    platform.actors.define(probe);
  });
  afterAll(() => platform.close());
  const call = (name: string, method: string, ...args: readonly Plain[]): Promise<Plain> =>
    platform.actors.get(probe.name, name).call(method, ...args);

  it("opens under a new master secret what the database's own key sealed", async () => {
    const sealed = await call("introduced", "seal", undefined, "whsec_a");
    expect(sealed).not.toContain("whsec_a");
    expect(await call("introduced", "open", "new-master", [], sealed)).toEqual(["whsec_a"]);
  });

  it("opens what a former master secret sealed while it is named, and not otherwise", async () => {
    const sealed = await call("rotated", "seal", "old-master", "whsec_b");
    expect(await call("rotated", "open", "new-master", ["old-master"], sealed)).toEqual([
      "whsec_b",
    ]);
    expect(await call("rotated", "open", "new-master", [], sealed)).toEqual([]);
  });
});
