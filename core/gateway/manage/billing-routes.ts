import { ApiError } from "../../http/api-error.ts";
import { guards, MANAGEMENT_ROOT, type ManagementRoutes } from "./context.ts";

/** Billing belongs to the hosted service: who asks for it is told so (`not_part`). */
export const billingRoutes: ManagementRoutes = (app, deps) => {
  const { read } = guards(deps.auth);
  app.all(`${MANAGEMENT_ROOT}/billing/*`, read, () => {
    throw new ApiError("not_part", {
      message:
        "Billing is not part of causey: providers bill you directly. See each gateway's log for costs",
    });
  });
};
