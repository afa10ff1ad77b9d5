import { describe, expect, it } from "vitest";
import { effectiveConfig, parseCommandLine } from "../../../adapters/cli/context/settings.ts";

const noEnv = () => undefined;
const noFile = () => {
  throw new Error("no such file");
};
const flags = (...args: string[]) => parseCommandLine(args, ["serve"]).flags;

describe("parseCommandLine()", () => {
  it("serves when no command is given", () => {
    expect(parseCommandLine([], ["serve", "help"]).command).toBe("serve");
  });

  it("takes a value after a space or an equals sign", () => {
    expect([...flags("--port", "0", "--host=::1")]).toEqual([
      ["port", "0"],
      ["host", "::1"],
    ]);
  });

  it("offers the nearest option for an unknown one", () => {
    expect(() => flags("--prot", "1")).toThrow('Unknown option "--prot": did you mean "port"?');
  });

  it("offers the nearest of all commands, and wants those with options of their own first", () => {
    const first = ["token", "prices"];
    const parse = (...args: string[]) => parseCommandLine(args, ["serve"], first);
    expect(() => parse("tokn")).toThrow('Unknown command "tokn": did you mean "token"?');
    expect(() => parse("--no-demo", "token")).toThrow('Put the command "token" before its options');
  });

  it("takes one command, and what `help` is about", () => {
    const parse = (...args: string[]) => parseCommandLine(args, ["serve", "help", "version"]);
    expect(parse("help", "serve").command).toBe("help");
    expect(() => parse("serve", "version")).toThrow('"version" is a second command, after "serve"');
  });

  it("offers the nearest command for an unknown one", () => {
    expect(() => parseCommandLine(["sreve"], ["serve"])).toThrow(
      'Unknown command "sreve": did you mean "serve"?',
    );
  });

  it("refuses an option without its value", () => {
    expect(() => flags("--port")).toThrow('Option "--port" needs a value');
    expect(() => flags("--port", "--host=x")).toThrow('Option "--port" needs a value');
  });
});

describe("effectiveConfig()", () => {
  const env = (name: string) => (name === "CAUSEY_PORT" ? "2" : undefined);
  const file = () => '{"port": 1, "host": "h"}';

  it("lets a flag win over the environment, the environment over the file", () => {
    expect(effectiveConfig(flags("--config", "f", "--port", "3"), env, file).port).toBe(3);
    expect(effectiveConfig(flags("--config", "f"), env, file).port).toBe(2);
    expect(effectiveConfig(flags("--config", "f"), noEnv, file)).toEqual({ port: 1, host: "h" });
  });

  it("passes over a port that Kubernetes names for a service", () => {
    const pod = (name: string): string | undefined =>
      name === "CAUSEY_PORT" ? "tcp://10.0.0.1:8787" : undefined;
    expect(effectiveConfig(flags("--no-demo"), pod, noFile).port).toBeUndefined();
  });

  it("takes the address of a PostgreSQL database, and shows no other", () => {
    const database = (text: string) =>
      effectiveConfig(flags("--database", text), noEnv, noFile).database;
    expect(database("postgres://a:b@c/d")).toBe("postgres://a:b@c/d");
    const refusal = (): string => {
      try {
        return database("mysql://user:s3cret@c/d") ?? "";
      } catch (error) {
        return String(error);
      }
    };
    expect(refusal()).toContain('Configuration key "database": ');
    expect(refusal()).not.toContain("s3cret");
  });

  it("takes a number of processes, or auto", () => {
    const processes = (text: string) =>
      effectiveConfig(flags("--processes", text), noEnv, noFile).processes;
    expect([processes("4"), processes("auto")]).toEqual([4, "auto"]);
    expect(() => processes("all")).toThrow('--processes: expected an integer or "auto", got "all"');
    expect(() => processes("0")).toThrow('Configuration key "processes": ');
    expect(() => processes("65")).toThrow('Configuration key "processes": ');
  });

  it("turns the demo off with --no-demo", () => {
    expect(effectiveConfig(flags("--no-demo"), noEnv, noFile).demo).toBe(false);
  });

  it("keeps the file's other keys beside a nested flag", () => {
    const rendering = () => '{"rendering": {"maxConcurrency": 2}}';
    expect(
      effectiveConfig(flags("--config=f", "--chromium-path=/c"), noEnv, rendering).rendering,
    ).toEqual({
      maxConcurrency: 2,
      chromiumPath: "/c",
    });
  });

  it("names the flag or the variable whose value is not a number", () => {
    expect(() => effectiveConfig(flags("--port", "x"), noEnv, noFile)).toThrow(
      '--port: expected an integer, got "x"',
    );
    const bad = (name: string) => (name === "CAUSEY_PORT" ? "-1" : undefined);
    expect(() => effectiveConfig(flags(), bad, noFile)).toThrow(
      'CAUSEY_PORT: expected an integer, got "-1"',
    );
  });

  it("names a configuration file that cannot be read", () => {
    expect(() => effectiveConfig(flags("--config", "nope.json"), noEnv, noFile)).toThrow(
      'Cannot read the configuration file "nope.json"',
    );
  });
});
