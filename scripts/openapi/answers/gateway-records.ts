import * as v from "valibot";
import { elementList } from "../../../core/gateway/manage/dynamic-route.ts";
import { instant } from "./parts.ts";

const times = { created_at: instant, modified_at: instant };
const optional = <S extends v.GenericSchema>(schema: S) => v.exactOptional(v.nullable(schema));

const ofGateway = { id: v.string(), gateway_id: v.string(), ...times };

const dataset = {
  ...ofGateway,
  name: v.string(),
  enable: v.boolean(),
  filters: v.array(
    v.object({
      key: v.string(),
      operator: v.picklist(["eq", "contains", "lt", "gt"]),
      value: v.array(v.union([v.string(), v.number(), v.boolean()])),
    }),
  ),
};

const evaluation = v.object({
  ...ofGateway,
  name: v.string(),
  processed: v.boolean(),
  total_logs: v.number(),
  datasets: v.array(v.object({ ...dataset, account_id: v.string(), account_tag: v.string() })),
  results: v.array(
    v.object({
      id: v.string(),
      ...times,
      evaluation_id: v.string(),
      evaluation_type_id: v.string(),
      result: v.string(),
      status: v.picklist([0, 1]),
      status_description: v.string(),
      total_logs: v.number(),
    }),
  ),
});

const evaluationType = v.object({
  id: v.string(),
  name: v.string(),
  type: v.string(),
  description: v.string(),
  enable: v.boolean(),
  mandatory: v.boolean(),
  ...times,
});

const providerKey = v.object({
  ...ofGateway,
  alias: v.string(),
  default_config: v.boolean(),
  provider_slug: v.string(),
  secret_id: v.string(),
  secret_preview: v.string(),
  rate_limit: v.exactOptional(v.number()),
  rate_limit_period: v.exactOptional(v.number()),
});

const customProvider = v.object({
  id: v.string(),
  ...times,
  base_url: v.string(),
  name: v.string(),
  slug: v.string(),
  enable: v.boolean(),
  beta: v.boolean(),
  description: optional(v.string()),
  headers: v.exactOptional(v.string()),
  link: optional(v.string()),
  position: optional(v.number()),
  curl_example: optional(v.string()),
  js_example: optional(v.string()),
});

const routeVersion = {
  version_id: v.string(),
  // A text: so the official client declares it.
  active: v.picklist(["true", "false"]),
  created_at: instant,
  data: v.string(),
  is_valid: v.boolean(),
};
const deployment = v.object({
  deployment_id: v.string(),
  version_id: v.string(),
  created_at: instant,
});
const routeSummary = { ...ofGateway, name: v.string(), elements: elementList };
const route = v.object({
  ...routeSummary,
  deployment,
  version: v.object(routeVersion),
  account_tag: v.exactOptional(v.string()),
});

/** The lists of routes carry `data` where others carry `result`: the official client does not unwrap them. */
function dataList(member: string, item: v.GenericSchema): v.GenericSchema {
  return v.object({
    success: v.literal(true),
    data: v.object({
      [member]: v.array(item),
      page: v.number(),
      per_page: v.number(),
      order_by: v.string(),
      order_by_direction: v.picklist(["asc", "desc"]),
    }),
    errors: v.tuple([]),
    messages: v.tuple([]),
  });
}

/** Answers about stored records of gateways and accounts, by their names in the document. */
export const gatewayRecordAnswers: Readonly<
  Record<
    | "StoredDataset"
    | "StoredEvaluation"
    | "EvaluationType"
    | "StoredProviderKey"
    | "StoredCustomProvider"
    | "StoredRoute"
    | "StoredRouteSummary"
    | "StoredRouteVersion"
    | "RouteList"
    | "RouteRenamed"
    | "RouteVersionList"
    | "RouteDeploymentList",
    v.GenericSchema
  >
> = {
  StoredDataset: v.object(dataset),
  StoredEvaluation: evaluation,
  EvaluationType: evaluationType,
  StoredProviderKey: providerKey,
  StoredCustomProvider: customProvider,
  StoredRoute: route,
  StoredRouteSummary: v.object(routeSummary),
  StoredRouteVersion: v.object({ ...routeSummary, ...routeVersion }),
  RouteList: dataList("routes", route),
  RouteRenamed: v.object({
    success: v.literal(true),
    route,
    errors: v.tuple([]),
    messages: v.tuple([]),
  }),
  RouteVersionList: dataList("versions", v.object(routeVersion)),
  RouteDeploymentList: dataList("deployments", deployment),
};
