import { type GatewayUnderTest, jsonInit } from "./gateway-app.ts";

/** A team as the management API shows it. */
export interface ShownTeam {
  readonly id: string;
  readonly keys: number;
  readonly usage: readonly { limitType: string; used: number; remaining: number }[];
}

/** The teams of a gateway under test. */
export function teams(gate: GatewayUnderTest) {
  const show = async (id: string): Promise<ShownTeam> =>
    (await gate.manage(`/teams/${id}`)).body.result;
  return {
    show,
    async make(settings: {
      readonly id: string;
      readonly limits?: readonly object[];
    }): Promise<ShownTeam> {
      const init = { method: "POST", ...jsonInit(settings) };
      const { status, body } = await gate.manage("/teams", init);
      if (status !== 200) throw new Error(JSON.stringify(body.errors));
      return body.result;
    },
    change: (id: string, settings: object) =>
      gate.manage(`/teams/${id}`, { method: "PATCH", ...jsonInit(settings) }),
    /** How much of each limit is used. */
    used: async (id: string): Promise<number[]> => (await show(id)).usage.map(({ used }) => used),
  };
}
