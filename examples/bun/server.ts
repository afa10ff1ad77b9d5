// bun run server.ts, in a clone after npm run build
import { platformApi } from "causey";
import { bunPlatform, serve } from "causey/bun";

const platform = await bunPlatform({ dataDir: Bun.env["CAUSEY_DATA_DIR"] ?? ".causey" });
const token = Bun.env["CAUSEY_TOKEN"] ?? "";
const app = platformApi({
  platform,
  accountId: "acme",
  tokens: [{ token, permissions: ["*"], accounts: ["*"] }],
});
const { url } = await serve(app, { port: Number(Bun.env["PORT"] ?? 8787), platform });
console.log(`Listening on ${url}`);
