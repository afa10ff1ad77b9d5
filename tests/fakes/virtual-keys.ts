import { type GatewayUnderTest, jsonInit } from "./gateway-app.ts";

/** A virtual key as the management API shows it. */
export interface ShownKey {
  readonly id: string;
  readonly key: string;
  readonly usage: readonly { limitType: string; used: number; remaining: number }[];
}

/** The key that {@link storeKeys} stores for every provider. */
export const STORED_KEY = "sk-stored-0123456789abcdef";

/** Stores the operator's key for some providers of a gateway. */
export async function storeKeys(
  gate: GatewayUnderTest,
  gateway: string,
  slugs: readonly string[] = ["openai", "anthropic", "google-ai-studio"],
): Promise<void> {
  for (const slug of slugs) {
    const body = { alias: "default", default_config: true, provider_slug: slug };
    const init = { method: "POST", ...jsonInit({ ...body, secret: STORED_KEY }) };
    await gate.manage(`/gateways/${gateway}/provider_configs`, init);
  }
}

/** The virtual keys of a gateway under test. */
export function virtualKeys(gate: GatewayUnderTest) {
  const show = async (id: string): Promise<ShownKey> =>
    (await gate.manage(`/virtual-keys/${id}`)).body.result;
  return {
    show,
    async make(settings: object = {}): Promise<ShownKey> {
      const init = { method: "POST", ...jsonInit({ name: "team", ...settings }) };
      const { status, body } = await gate.manage("/virtual-keys", init);
      if (status !== 200) throw new Error(JSON.stringify(body.errors));
      return body.result;
    },
    change: (id: string, settings: object) =>
      gate.manage(`/virtual-keys/${id}`, { method: "PATCH", ...jsonInit(settings) }),
    /** How much of each limit is used. */
    used: async (id: string): Promise<number[]> => (await show(id)).usage.map(({ used }) => used),
  };
}
