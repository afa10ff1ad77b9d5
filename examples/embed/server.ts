// node server.ts, in a clone after npm run build: one capability inside an app that has its own routes, errors and middleware
import { gateway } from "causey/gateway";
import { nodePlatform, serve } from "causey/node";
import { Hono } from "hono";

const platform = await nodePlatform({ dataDir: process.env["CAUSEY_DATA_DIR"] ?? ".causey" });
const app = new Hono();
app.get("/", (c) => c.text("The host's own page"));
app.get("/boom", () => Promise.reject(new TypeError("the host's own bug")));
app.notFound((c) => c.text("The host's own 404", 404));
app.onError((error, c) => c.text(`The host's own error: ${error.message}`, 500));
app.route("/llm", gateway({ platform, demo: true, gateways: { open: { authentication: false } } }));
const { url } = await serve(app, { port: Number(process.env["PORT"] ?? 8787), platform });
console.log(`Listening on ${url}`);
