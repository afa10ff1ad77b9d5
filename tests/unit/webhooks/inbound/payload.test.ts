import { describe, expect, it } from "vitest";
import { utf8 } from "../../../../core/crypto/encoding.ts";
import { parsePayload } from "../../../../core/webhooks/inbound/record.ts";

const form = new Headers({ "content-type": "application/x-www-form-urlencoded" });
function read(text: string): unknown {
  const payload = parsePayload(utf8(text), form);
  return payload instanceof Promise ? payload : payload.value;
}

describe("parsePayload() of what calls itself a form", () => {
  it("reads JSON as JSON: curl calls every body a form", () => {
    expect(read('{"entity":"a&b=c"}')).toEqual({ entity: "a&b=c" });
    expect(read(' [{"id":"1"}]')).toEqual([{ id: "1" }]);
  });

  it("reads a form as a form", () => {
    expect(read("entity=a&x=1")).toEqual({ entity: "a", x: "1" });
    expect(read("payload=%7B%22id%22%3A1%7D")).toEqual({ id: 1 });
    expect(read("{a}=1")).toEqual({ "{a}": "1" });
    expect(read("[0]=1")).toEqual({ "[0]": "1" });
  });
});
