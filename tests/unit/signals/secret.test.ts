import { expect, it } from "vitest";
import { secret } from "../../../core/crypto/secret.ts";

it("secret() is printed by nothing", () => {
  const one = secret("the text");
  const inspect = Reflect.get(one, Symbol.for("nodejs.util.inspect.custom")) as () => string;
  const printed = [
    String(one),
    ["template", one].join(" "),
    JSON.stringify({ one, deep: [one] }),
    JSON.stringify({ ...one }),
    Object.values(one).join(","),
    inspect(),
  ].join("\n");
  expect(printed).not.toContain("the text");
  expect(printed).toContain("[secret]");
  expect(one.reveal()).toBe("the text");
});
