// deno serve -A main.ts
import { platformApi } from "causey";
import { denoPlatform } from "causey/deno";

const platform = await denoPlatform({ dataDir: Deno.env.get("CAUSEY_DATA_DIR") ?? ".causey" });
const tokens = [{ token: Deno.env.get("CAUSEY_TOKEN") ?? "", permissions: ["*"], accounts: ["*"] }];
const app = platformApi({ platform, accountId: "acme", tokens });
export default {
  fetch: (request: Request, info: Deno.ServeHandlerInfo) => app.fetch(request, info),
};
