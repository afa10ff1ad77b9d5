import type { Hono } from "hono";
import * as v from "valibot";
import { envelope } from "../../http/envelope.ts";
import { parse, readJson } from "../../http/fields/body.ts";
import { instanceRoots, pageInfo, pageOf, type RouteContext } from "./route-context.ts";

const kindSchema = v.object({
  kind: v.optional(v.picklist(["all", "not_found", "low_score", "no_clicks"]), "all"),
});

/** The body by which a client tells that somebody chose a result. */
export interface QuestionClick {
  readonly query: string;
}

/** Checks {@link QuestionClick}. */
export const questionClick: v.GenericSchema<unknown, QuestionClick> = v.object({
  query: v.pipe(v.string(), v.minLength(1), v.maxLength(8_192)),
});

/** Registers the report of what was asked, and the clicks that clients tell. */
export function questionRoutes(app: Hono, { options, may, instance }: RouteContext): void {
  for (const root of instanceRoots.map((one) => `${one}/:id`)) {
    app.get(`${root}/questions`, may("AI Search Read"), async (c) => {
      const page = pageOf(c, Object.keys(kindSchema.entries));
      const { kind } = parse(kindSchema, c.req.query());
      const { questions, total } = await instance(c).questions(kind, page.page, page.perPage);
      return envelope(questions, { resultInfo: pageInfo(page, questions.length, total) });
    });
    app.delete(`${root}/questions`, may("AI Search Edit"), async (c) => {
      await instance(c).clearQuestions();
      return envelope({ cleared: true });
    });
    app.post(`${root}/clicks`, may("AI Search Run"), async (c) => {
      const { query } = await readJson(c, questionClick, { platform: options.platform });
      return envelope({ counted: await instance(c).clickQuestion(query) });
    });
  }
}
