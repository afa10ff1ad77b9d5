// The host program as a Worker; the address of the model server is in the configuration.
import { worker } from "../../adapters/workers/mod.ts";
import { aiBindingApp } from "./ai-binding-app.ts";

export { CauseyObject } from "../../adapters/workers/mod.ts";
export { control } from "../../adapters/workers/control.ts";

export default worker((env) => {
  const { gateway } = JSON.parse(env.CAUSEY_CONFIG);
  return { build: (platform) => aiBindingApp(platform, gateway.providers.openai.baseUrl) };
});
