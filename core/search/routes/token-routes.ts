import type { Context, Hono } from "hono";
import * as v from "valibot";
import { readJson } from "../../http/fields/body.ts";
import { envelope } from "../../http/envelope.ts";
import { directoryAt } from "../directory/directory.ts";
import { accountOf, pageInfo, pageOf, type RouteContext } from "./route-context.ts";
import { sealSecret } from "../directory/token-secrets.ts";
import type { SearchToken } from "../directory/token-store.ts";

/** A checked body of `POST` and `PUT …/tokens`. */
export interface SearchTokenInput {
  readonly name: string;
  readonly cf_api_id: string;
  readonly cf_api_key: string;
  readonly legacy?: boolean | undefined;
}

/** They stand in a header: a line break would make each request fail. */
const printable = (max: number): v.GenericSchema<string> =>
  v.pipe(
    v.string(),
    v.maxLength(max),
    v.regex(/^[\x21-\x7e]+$/u, "expected printable ASCII without blanks"),
  );

/** Body of `POST …/tokens` and `PUT …/tokens/:token_id`. */
export const tokenInput: v.GenericSchema<unknown, SearchTokenInput> = v.object({
  name: v.pipe(v.string(), v.minLength(1), v.maxLength(128)),
  cf_api_id: printable(256),
  cf_api_key: printable(1024),
  legacy: v.optional(v.boolean()),
});

/** Registers the credentials of an account with which instances ask their buckets. */
export function tokenRoutes(app: Hono, { options, may }: RouteContext): void {
  const root = "/accounts/:account_id/ai-search/tokens";
  const { platform } = options;
  const directory = (c: Context): ReturnType<typeof directoryAt> =>
    directoryAt(platform, accountOf(c));
  const write = async (c: Context, id: string, isNew: boolean): Promise<SearchToken> => {
    const body = await readJson(c, tokenInput, { platform });
    const { name, cf_api_id: keyId, cf_api_key: secret, legacy = false } = body;
    const sealed = await sealSecret(options, accountOf(c), id, secret);
    return directory(c).putToken({ id, name: name.toWellFormed(), keyId, sealed, legacy }, isNew);
  };
  app.post(root, may("AI Search Edit"), async (c) =>
    envelope(await write(c, platform.system.id(), true)),
  );
  app.get(root, may("AI Search Read"), async (c) => {
    const page = pageOf(c, ["search"]);
    const all = await directory(c).tokens(c.req.query("search") ?? "");
    const shown = all.slice((page.page - 1) * page.perPage, page.page * page.perPage);
    return envelope(shown, { resultInfo: pageInfo(page, shown.length, all.length) });
  });
  app.get(`${root}/:token_id`, may("AI Search Read"), async (c) =>
    envelope(await directory(c).token(tokenId(c))),
  );
  app.put(`${root}/:token_id`, may("AI Search Edit"), async (c) => {
    // Before the body is read: a missing token is a 404, whatever the body.
    await directory(c).token(tokenId(c));
    return envelope(await write(c, tokenId(c), false));
  });
  app.delete(`${root}/:token_id`, may("AI Search Edit"), async (c) =>
    envelope(await directory(c).dropToken(tokenId(c))),
  );
}

function tokenId(c: Context): string {
  return c.req.param("token_id") ?? "";
}
