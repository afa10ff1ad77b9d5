import type { Context } from "hono";
import { ApiError } from "../../http/api-error.ts";
import { readJson } from "../../http/body.ts";
import { envelope } from "../../http/envelope.ts";
import {
  flagOf,
  gatewayNameOf,
  gatewayRecords,
  guards,
  idOf,
  listAnswer,
  MANAGEMENT_ROOT,
  type GatewayManagementDeps,
  type ManagementRoutes,
  pageOfQuery,
} from "./context.ts";
import * as datasets from "./dataset.ts";
import * as evaluations from "./evaluation.ts";
import { type RecordQuery, recordView } from "../records/record.ts";

/** Datasets, evaluations and their types. */
export const evaluationRoutes: ManagementRoutes = (app, deps) => {
  datasetRoutes(app, deps);
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/evaluations`;
  app.get(path, read, (c) => list(c, "evaluation", "processed", deps));
  app.post(path, edit, async (c) => {
    const body = await readJson(c, evaluations.evaluationCreate, { platform: deps.platform });
    const name = gatewayNameOf(c);
    const record = await evaluations.createEvaluation(body, {
      ...name,
      records: await gatewayRecords(c, deps),
      system: deps.platform.system,
      summarise: (queries) => deps.store.summariseLogs(name, queries),
    });
    return envelope(recordView(name.gateway, record));
  });
  app.get(`${path}/:id`, read, (c) => show(c, "evaluation", deps));
  app.delete(`${path}/:id`, edit, (c) => remove(c, "evaluation", deps));
  app.get(`${MANAGEMENT_ROOT}/evaluation-types`, read, (c) => {
    const page = pageOfQuery(c, ["order_by", "order_by_direction"]);
    const direction = c.req.query("order_by_direction") ?? "asc";
    if (direction !== "asc" && direction !== "desc") {
      throw new ApiError("invalid_request", {
        message: `order_by_direction: expected "asc" or "desc", got "${direction.slice(0, 32)}"`,
      });
    }
    const all = evaluations.listEvaluationTypes(
      c.req.query("order_by") || "id",
      direction === "desc",
    );
    return listAnswer(all.slice(page.offset, page.offset + page.perPage), page, all.length);
  });
};

const datasetRoutes: ManagementRoutes = (app, deps) => {
  const { read, edit } = guards(deps.auth);
  const path = `${MANAGEMENT_ROOT}/gateways/:gateway_id/datasets`;
  const { system } = deps.platform;
  app.get(path, read, (c) => list(c, "dataset", "enable", deps));
  app.post(path, edit, async (c) => {
    const body = await readJson(c, datasets.datasetWrite, { platform: deps.platform });
    const record = await datasets.createDataset(body, await gatewayRecords(c, deps), system);
    return envelope(recordView(gatewayNameOf(c).gateway, record));
  });
  app.get(`${path}/:id`, read, (c) => show(c, "dataset", deps));
  app.put(`${path}/:id`, edit, async (c) => {
    const body = await readJson(c, datasets.datasetWrite, { platform: deps.platform });
    const records = await gatewayRecords(c, deps);
    const record = await datasets.updateDataset(idOf(c), body, records, system);
    return envelope(recordView(gatewayNameOf(c).gateway, record));
  });
  app.delete(`${path}/:id`, edit, (c) => remove(c, "dataset", deps));
};

type Listed = "dataset" | "evaluation";

/** Datasets and evaluations are shown alike and listed by the same parameters, but for one flag. */
async function list(
  c: Context,
  collection: Listed,
  flagName: "enable" | "processed",
  deps: GatewayManagementDeps,
): Promise<Response> {
  const page = pageOfQuery(c, ["name", "search", flagName]);
  const flag = flagOf(c, flagName);
  const name = c.req.query("name");
  const query: RecordQuery = {
    collection,
    search: (c.req.query("search") ?? "").slice(0, 128),
    searchIn: ["name", "filters"],
    where: {
      ...(flag === undefined ? {} : { [flagName]: flag }),
      ...(name === undefined || name === "" ? {} : { name }),
    },
  };
  const records = await gatewayRecords(c, deps);
  const found = await records.list(query, page.offset, page.perPage);
  const { gateway } = gatewayNameOf(c);
  return listAnswer(
    found.records.map((record) => recordView(gateway, record)),
    page,
    found.total,
  );
}

async function show(
  c: Context,
  collection: Listed,
  deps: GatewayManagementDeps,
): Promise<Response> {
  const records = await gatewayRecords(c, deps);
  const record = await records.get({ collection, id: idOf(c) });
  return envelope(recordView(gatewayNameOf(c).gateway, record));
}

async function remove(
  c: Context,
  collection: Listed,
  deps: GatewayManagementDeps,
): Promise<Response> {
  const records = await gatewayRecords(c, deps);
  const record = await records.get({ collection, id: idOf(c) });
  await records.remove(record);
  return envelope(recordView(gatewayNameOf(c).gateway, record));
}
