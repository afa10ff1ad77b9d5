// node server.ts, in a clone after npm run build
import { platformApi } from "causey";
import { nodePlatform, serve } from "causey/node";

const platform = await nodePlatform({ dataDir: process.env["CAUSEY_DATA_DIR"] ?? ".causey" });
const token = process.env["CAUSEY_TOKEN"] ?? "";
const app = platformApi({
  platform,
  accountId: "acme",
  tokens: [{ token, permissions: ["*"], accounts: ["*"] }],
});
const { url } = await serve(app, { port: Number(process.env["PORT"] ?? 8787), platform });
console.log(`Listening on ${url}`);
