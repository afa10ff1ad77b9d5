import { Hono } from "hono";
import { expect, it } from "vitest";
import { noteResponse, responseNote, setAnswerHeader } from "../../../core/http/response-note.ts";

/** The answer of an app whose handler gives `answer`, and that adds two headers to it. */
async function withHeaders(answer: Response): Promise<Response> {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    setAnswerHeader(c, "x-set", "1");
    setAnswerHeader(c, "vary", "Origin", "append");
  });
  app.get("/", () => answer);
  return app.request("/");
}

it("a header is added to an answer that keeps its note", async () => {
  const answer = new Response("x", { status: 418, headers: { vary: "Accept" } });
  const response = await withHeaders(noteResponse(answer, { body: "x" }));
  expect(response.status).toBe(418);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "x-set": "1",
    vary: "Accept, Origin",
  });
  expect(responseNote(response)).toEqual({ body: "x" });
});

it("an answer whose headers cannot change is copied with its note", async () => {
  const answer = Response.redirect("http://a.test/", 307);
  const response = await withHeaders(noteResponse(answer, { body: null }));
  expect(response.status).toBe(307);
  expect(Object.fromEntries(response.headers)).toMatchObject({
    "x-set": "1",
    location: "http://a.test/",
  });
  expect(responseNote(response)).toEqual({ body: null });
});
