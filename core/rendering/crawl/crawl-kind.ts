import { type ActorClient, actorClient } from "../../actors/actor-client.ts";
import type { ActorKind, Actors } from "../../ports.ts";
import type { CrawlMethods } from "./crawl-actor.ts";
import type { CrawlDeps } from "./crawl-deps.ts";
import { crawlTables } from "./rows/crawl-tables.ts";

/** The name of the kind of actor that is one crawl; each is named `account/id`. */
const CRAWL_KIND = "rendering-crawl";

/** The mailbox belongs to the alarm, which lasts as long as there are pages to read. */
const interleaved = ["create", "read", "contentPart", "cancel", "expire"];

/** Makes the kind of actor that is one crawl, with what it reads pages with. */
export function crawlKind(deps: CrawlDeps): ActorKind {
  return {
    name: CRAWL_KIND,
    schema: crawlTables,
    interleaved,
    async start(context) {
      const { startCrawl } = await import("./crawl-actor.ts");
      return startCrawl(context, deps);
    },
  };
}

/** Returns a crawl of an account, whether it exists or not. */
export function crawlAt(
  actors: Pick<Actors, "get">,
  account: string,
  id: string,
): ActorClient<CrawlMethods> {
  return actorClient(actors.get(CRAWL_KIND, `${account}/${id}`));
}
