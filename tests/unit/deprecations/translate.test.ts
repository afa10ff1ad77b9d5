import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  destinationsToDomains,
  domainsToDestinations,
} from "../../../core/deprecations/translate/access-destinations.ts";
import {
  fromFlattenAllCnames,
  toFlattenAllCnames,
} from "../../../core/deprecations/translate/cname-flattening.ts";
import {
  unwrapErrorChain,
  wrapErrorChain,
} from "../../../core/deprecations/translate/error-chain.ts";
import {
  addSrvData,
  dropSrvData,
  hasSrvData,
  splitSrvName,
} from "../../../core/deprecations/translate/srv-data.ts";

const plainError = fc.record({ code: fc.integer(), message: fc.string() });
const { error } = fc.letrec((tie) => ({
  error: fc.record(
    {
      code: fc.integer(),
      message: fc.string(),
      error_chain: fc.array(tie("error"), { maxLength: 3 }) as never,
    },
    { requiredKeys: ["code", "message"] },
  ),
}));

describe("error_chain", () => {
  it("unwraps an example, and wraps it again", () => {
    const root = { code: 9999, message: "Content for A record must be a valid IPv4 address." };
    const old = [{ code: 1004, message: "DNS Validation Error", error_chain: [root] }];
    expect(unwrapErrorChain(old)).toEqual([root]);
    expect(wrapErrorChain([root])).toEqual(old);
  });

  it("keeps what is not wrapped, drops empty chains, unwraps nested ones, in order", () => {
    const leaf = (code: number) => ({ code, message: String(code) });
    const errors = [
      leaf(1),
      { ...leaf(2), error_chain: [] },
      { ...leaf(3), error_chain: [{ ...leaf(4), error_chain: [leaf(5), leaf(6)] }, leaf(7)] },
      leaf(8),
    ];
    expect(unwrapErrorChain(errors).map(({ code }) => code)).toEqual([1, 2, 5, 6, 7, 8]);
  });

  it("unwrap undoes wrap, is idempotent, and leaves no error_chain", () => {
    fc.assert(
      fc.property(fc.array(plainError), (errors) => {
        expect(unwrapErrorChain(wrapErrorChain(errors))).toEqual(errors);
      }),
    );
    fc.assert(
      fc.property(fc.array(error, { maxLength: 4 }), (errors) => {
        const once = unwrapErrorChain(errors as never);
        expect(unwrapErrorChain(once)).toEqual(once);
        expect(once.some((one) => Object.hasOwn(one, "error_chain"))).toBe(false);
      }),
    );
  });

  it("survives a chain of any depth", () => {
    let deep: { code: number; message: string; error_chain?: never[] } = {
      code: 0,
      message: "root",
    };
    for (let i = 0; i < 20_000; i++) deep = { code: i, message: "", error_chain: [deep as never] };
    expect(unwrapErrorChain([deep])).toEqual([{ code: 0, message: "root" }]);
  });
});

describe("self_hosted_domains", () => {
  it("become public destinations, and come back from them", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (domains) => {
        const modern = domainsToDestinations({ name: "app", self_hosted_domains: domains });
        expect(modern).toEqual({
          name: "app",
          destinations: domains.map((uri) => ({ type: "public", uri })),
        });
        expect(destinationsToDomains(modern)["self_hosted_domains"]).toEqual(domains);
        expect(domainsToDestinations(modern)).toBe(modern);
      }),
    );
  });

  it("are ignored beside destinations of any value, also an empty list", () => {
    for (const destinations of [[], null, [{ type: "private", cidr: "10.0.0.0/8" }]]) {
      const modern = domainsToDestinations({ self_hosted_domains: ["a"], destinations });
      expect(modern).toEqual({ destinations });
    }
  });

  it("show public destinations only; one without type is public", () => {
    const destinations = [
      { uri: "a" },
      { type: "private", uri: "b" },
      { type: "public", uri: "c" },
      null,
      "x",
    ];
    expect(destinationsToDomains({ destinations })["self_hosted_domains"]).toEqual(["a", "c"]);
    expect(destinationsToDomains({})["self_hosted_domains"]).toEqual([]);
  });
});

describe("cname_flattening", () => {
  it("maps both vocabularies to flatten_all_cnames and back", () => {
    expect(["on", "flatten_all"].map(toFlattenAllCnames)).toEqual([true, true]);
    expect(["off", "apex", "flatten_at_root"].map(toFlattenAllCnames)).toEqual([
      false,
      false,
      false,
    ]);
    expect(["", "ON", null, true].map(toFlattenAllCnames)).toEqual([null, null, null, null]);
    for (const flat of [true, false]) {
      expect(toFlattenAllCnames(fromFlattenAllCnames(flat))).toBe(flat);
      expect(toFlattenAllCnames(fromFlattenAllCnames(flat, "sdk"))).toBe(flat);
    }
    expect(fromFlattenAllCnames(false)).toBe("off");
  });
});

describe("SRV data", () => {
  const record = {
    type: "SRV",
    name: "_sip._tcp.example.com",
    data: { priority: 1, weight: 2, port: 3, target: "t" },
  };

  it("is split from the outer name and dropped again", () => {
    const old = addSrvData(record);
    expect(old["data"]).toEqual({
      ...record.data,
      service: "_sip",
      proto: "_tcp",
      name: "example.com",
    });
    expect(hasSrvData(old)).toBe(true);
    expect(dropSrvData(old)).toEqual(record);
    expect(dropSrvData(record)).toBe(record);
  });

  it("makes the outer name when that is missing, and never replaces one", () => {
    const data = { service: "_sip", proto: "_udp", name: "example.com", port: 1 };
    expect(dropSrvData({ type: "SRV", data })).toEqual({
      type: "SRV",
      name: "_sip._udp.example.com",
      data: { port: 1 },
    });
    expect(dropSrvData({ type: "SRV", name: "other", data })["name"]).toBe("other");
  });

  it("leaves other types, a missing type and other names alone", () => {
    const caa = { type: "CAA", name: "a.b.c", data: { service: "x" } };
    expect(dropSrvData(caa)).toBe(caa);
    const untyped = { data: { service: "_sip" } };
    expect(dropSrvData(untyped)).toBe(untyped);
    const odd = { type: "SRV", name: "example.com" };
    expect(addSrvData(odd)).toBe(odd);
    expect(splitSrvName("_sip._tcp")).toBeNull();
  });
});
