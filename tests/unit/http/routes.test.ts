import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { ApiError } from "../../../core/http/api-error.ts";
import { envelope, errorBody } from "../../../core/http/envelope.ts";
import { closeRoutes } from "../../../core/http/routes.ts";
import { SqlError } from "../../../core/sql/sql-error.ts";
import { fakePlatform } from "../../fakes/auth-platform.ts";

const logged: [string, Record<string, unknown>][] = [];
const { system } = fakePlatform({ now: 0 });
const deps = {
  system,
  log: (_level: string, message: string, fields: Record<string, unknown> = {}) => {
    logged.push([message, fields]);
  },
};

/** A sub-app in a host that has its own 404 and its own route. */
function host(): Hono {
  const part = new Hono();
  part.get("/things/:id", (c) => c.text(c.req.param("id")));
  part.put("/things/:id", () => new Response());
  part.get("/fail", () => {
    throw new TypeError("secret detail");
  });
  part.get("/lost", () => {
    throw new SqlError("unknown", "The thread ended");
  });
  part.get("/moved", () => {
    throw new SqlError("fenced", "This process does not own it");
  });
  part.get("/gone", () => {
    throw new ApiError("not_found", {
      message: "No thing",
      headers: { "x-extra": "1" },
      details: { hint: "look" },
    });
  });
  closeRoutes(part, ["/things/*"], "api", deps);
  const app = new Hono();
  app.notFound((c) => c.text("host 404", 404));
  app.get("/mine", (c) => c.text("host"));
  app.route("/api", part);
  return app;
}

const get = (path: string, method: string = "GET") => host().request(path, { method });

describe("closeRoutes()", () => {
  it("answers 405 with Allow where another method has a route", async () => {
    const response = await get("/api/things/1", "DELETE");
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET, HEAD, PUT"]);
    expect(await response.json()).toMatchObject({
      result: null,
      success: false,
      errors: [{ code: 10405 }],
    });
  });

  it("answers 404 in the envelope below its prefixes only", async () => {
    const response = await get("/api/things/1/2");
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      errors: [{ code: 7003, message: "No route for GET /api/things/1/2" }],
    });
    expect(await (await get("/api/else")).text()).toBe("host 404");
    expect(await (await get("/mine")).text()).toBe("host");
  });

  it("keeps a huge path out of the message", async () => {
    const { errors } = (await (await get(`/api/things/${"x/".repeat(5000)}`)).json()) as {
      errors: { message: string }[];
    };
    expect(errors[0]!.message.length).toBeLessThan(250);
  });

  it("lets HEAD through to GET", async () => {
    expect((await get("/api/things/1", "HEAD")).status).toBe(200);
  });

  it("answers an unknown error with 500, a request id and no detail, and logs it under that id", async () => {
    const response = await get("/api/fail");
    const id = response.headers.get("x-request-id");
    const text = await response.text();
    expect([response.status, text.includes("secret detail"), text.includes(id!)]).toEqual([
      500,
      false,
      true,
    ]);
    expect(logged.at(-1)?.[1]).toMatchObject({
      request_id: id,
      route: "/api/fail",
      error: "TypeError: secret detail",
    });
  });

  it("answers an ApiError with its status, headers and details", async () => {
    const response = await get("/api/gone");
    expect([response.status, response.headers.get("x-extra")]).toEqual([404, "1"]);
    expect(await response.json()).toEqual({
      result: null,
      success: false,
      errors: [{ code: 404, message: "No thing", hint: "look" }],
      messages: [],
    });
  });
});

describe("envelopes", () => {
  it("carry result, paging and messages on success", async () => {
    const response = envelope([1], { resultInfo: { page: 1 }, messages: ["m"], status: 201 });
    expect(response.status).toBe(201);
    expect(await response.json()).toEqual({
      result: [1],
      success: true,
      errors: [],
      messages: ["m"],
      result_info: { page: 1 },
    });
  });

  it("write one error in three shapes", () => {
    const error = new ApiError("rate_limited", { message: "Slow down" });
    expect(errorBody(error, "openai")).toMatchObject({
      error: { message: "Slow down", type: "invalid_request_error" },
    });
    expect(errorBody(error, "api")).toMatchObject({
      success: false,
      errors: [{ code: 2001, message: "Slow down" }],
    });
    expect(errorBody(error, "gateway")).toMatchObject({
      success: false,
      error: [{ code: 2001 }],
      internalCode: 2001,
    });
  });
});

describe("ApiError", () => {
  it("survives as plain data what an actor boundary does to it", () => {
    const error = new ApiError("conflict", {
      message: "There",
      headers: { a: "b" },
      details: { c: 1 },
      cause: new Error("x"),
    });
    const back = ApiError.from(structuredClone(error.toData()));
    expect(back).toBeInstanceOf(ApiError);
    expect([back.kind, back.status, back.code, back.message]).toEqual([
      "conflict",
      409,
      409,
      "There",
    ]);
    expect(back.options.headers).toEqual({ a: "b" });
    expect(back.cause).toBeUndefined();
  });
});

it("a write of a process that lost its objects is worth another attempt", async () => {
  const response = await get("/api/moved");
  expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
});

it("a write whose outcome nobody knows is answered so that no client repeats it", async () => {
  const response = await get("/api/lost");
  expect([response.status, response.headers.get("x-should-retry")]).toEqual([500, "false"]);
  expect(response.headers.get("retry-after")).toBeNull();
  expect(await response.json()).toMatchObject({ errors: [{ code: 10507 }] });
});
