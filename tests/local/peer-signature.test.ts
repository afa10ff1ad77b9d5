import { describe, expect, it } from "vitest";
import { hashOf, signatures } from "../../adapters/peers/signature.ts";

const head = Buffer.from("the head");

/** Two nodes; the clock of the second one is `apart` ms ahead. */
function nodes({ apart = 0, secret = "one secret" } = {}) {
  const clock = { now: 1_800_000_000_000 };
  return {
    clock,
    caller: signatures("one secret", () => clock.now),
    owner: signatures(secret, () => clock.now + apart),
  };
}

describe("the signature of a request between nodes", () => {
  it("tells who may call, and the hash of the head", () => {
    const { caller, owner } = nodes();
    const signed = caller.sign("POST", "/fetch", head);
    expect(owner.check("POST", "/fetch", signed)).toEqual({ hash: hashOf(head) });
  });

  it("is refused when anything of it is another one, and tells no secret", () => {
    const { caller, owner } = nodes();
    const signed = caller.sign("POST", "/fetch", head);
    const refusal = { refusal: expect.stringContaining("signature is wrong") as string };
    expect(owner.check("GET", "/fetch", signed)).toEqual(refusal);
    expect(owner.check("POST", "/calls", signed)).toEqual(refusal);
    for (const name of Object.keys(signed)) {
      const altered = { ...signed, [name]: `${signed[name]!.slice(0, -1)}x` };
      expect(owner.check("POST", "/fetch", altered)).toEqual(refusal);
      expect(owner.check("POST", "/fetch", { ...signed, [name]: undefined })).toEqual(refusal);
    }
    expect(nodes({ secret: "another" }).owner.check("POST", "/fetch", signed)).toEqual(refusal);
    expect(JSON.stringify(signed)).not.toContain("secret");
  });

  it("bears clocks that are a minute apart, and no more than two", () => {
    for (const apart of [-60_000, 60_000, 120_000]) {
      const { caller, owner } = nodes({ apart });
      expect(owner.check("GET", "/calls", caller.sign("GET", "/calls", ""))).toHaveProperty("hash");
    }
    for (const apart of [-121_000, 121_000]) {
      const { caller, owner } = nodes({ apart });
      expect(owner.check("GET", "/calls", caller.sign("GET", "/calls", ""))).toEqual({
        refusal: `the clocks are ${apart / 1000} s apart`,
      });
    }
  });

  it("is good once, in whichever order requests arrive", () => {
    const { caller, clock, owner } = nodes();
    const all = Array.from({ length: 200 }, () => caller.sign("POST", "/fetch", head));
    const check = (signed: Record<string, string>) => owner.check("POST", "/fetch", signed);
    for (const signed of all.toReversed()) expect(check(signed)).toHaveProperty("hash");
    clock.now += 100_000;
    for (const signed of all) expect(check(signed)).toEqual({ refusal: "it was sent before" });
    // By now it is too old, and forgotten.
    clock.now += 300_000;
    expect(check(caller.sign("POST", "/fetch", head))).toHaveProperty("hash");
    expect(check(all[0]!)).toEqual({ refusal: "the clocks are 400 s apart" });
  });

  it("is refused when too many have overtaken it", () => {
    const { caller, owner } = nodes();
    const first = caller.sign("POST", "/fetch", "");
    for (let n = 0; n < 10_001; n++)
      owner.check("POST", "/fetch", caller.sign("POST", "/fetch", ""));
    expect(owner.check("POST", "/fetch", first)).toEqual({ refusal: "it was sent before" });
  });
});
