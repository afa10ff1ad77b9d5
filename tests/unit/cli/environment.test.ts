import { describe, expect, it } from "vitest";
import { watchedEnvironment } from "../../../adapters/cli/context/environment.ts";

const check = (...names: string[]) => {
  const environment = watchedEnvironment(Object.fromEntries(names.map((name) => [name, "1"])));
  environment.read("CAUSEY_OPENAI_KEY");
  return () => environment.checkNames();
};

describe("watchedEnvironment()", () => {
  it.each([
    ["CAUSEY_PROT", "CAUSEY_PORT"],
    ["CAUSEY_DATADIR", "CAUSEY_DATA_DIR"],
    ["CAUSEY_TOKENS", "CAUSEY_TOKEN"],
    ["CAUSEY_MASTERKEY", "CAUSEY_MASTER_KEY"],
  ])("refuses %s and offers %s", (name, meant) => {
    expect(check("CAUSEY_PORT", name)).toThrow(
      `Unknown environment variable "${name}": did you mean "${meant}"?`,
    );
  });

  it("refuses a name that is like none, without a guess", () => {
    expect(check("CAUSEY_SOMETHING_ELSE_ENTIRELY")).toThrow(
      /^Unknown environment variable "CAUSEY_SOMETHING_ELSE_ENTIRELY"$/,
    );
  });

  it("knows the command's own, those that the configuration names, and other people's", () => {
    expect(
      check("CAUSEY_PORT", "CAUSEY_CONFIG", "CAUSEY_TOKEN", "CAUSEY_OPENAI_KEY", "PATH", "CAUSE"),
    ).not.toThrow();
    // Kubernetes adds these to every container beside a service named "causey".
    expect(
      check("CAUSEY_SERVICE_HOST", "CAUSEY_SERVICE_PORT_HTTP", "CAUSEY_PORT_8787_TCP_ADDR"),
    ).not.toThrow();
  });
});
