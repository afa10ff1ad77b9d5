// deno serve -A --host 127.0.0.1 main.ts
import { platformApi } from "causey";
import { denoPlatform } from "causey/deno";

const platform = await denoPlatform({ dataDir: Deno.env.get("CAUSEY_DATA_DIR") ?? ".causey" });
const token = Deno.env.get("CAUSEY_TOKEN") ?? "";
const app = platformApi({
  platform,
  accountId: "acme",
  tokens: [{ token, permissions: ["*"], accounts: ["*"] }],
});
export default {
  fetch: (request: Request, info: Deno.ServeHandlerInfo) => app.fetch(request, info),
};
