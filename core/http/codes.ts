/** One kind of failure: its HTTP status, its number on the wire and its default message. */
export interface ErrorKind {
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

/**
 * Every failure that causey reports, by name: HTTP status, number on the wire, default message. The numbers are the ones that the official clients know;
 * where the hosted platform has none, the HTTP status is the number, and 104xx are ours.
 */
export const errorKinds = {
  // All capabilities
  invalid_request: [400, 400, "Invalid request"],
  unauthorized: [401, 10000, "Authentication error"],
  forbidden: [403, 10403, "The token lacks the permission for this request"],
  not_found: [404, 404, "Not found"],
  no_route: [404, 7003, "No route for that URI"],
  method_not_allowed: [405, 10405, "Method not allowed"],
  request_timeout: [408, 408, "Request timed out"],
  conflict: [409, 409, "Already exists"],
  too_large: [413, 413, "Request entity too large"],
  upgrade_required: [426, 426, "This route speaks WebSocket"],
  rate_limited: [429, 2001, "Rate limit exceeded"],
  too_many_logins: [429, 10429, "Too many failed logins"],
  internal: [500, 10500, "Internal error"],
  not_part: [501, 10501, "Not part of causey"],
  invalid_options: [500, 10502, "Invalid options"],
  unavailable: [503, 10503, "Temporarily unavailable"],
  storage_full: [
    503,
    10506,
    "The server cannot store anything, most likely because its disk is full: free space there, or delete what you no longer need. Reading and deleting still work",
  ],
  outcome_unknown: [
    500,
    10507,
    "The server does not know whether it stored this: check before you send the request again",
  ],
  missing_capability: [503, 10504, "This runtime lacks a capability that the request needs"],
  // Gateway: docs/gateway.md
  gateway_unknown: [400, 2001, "Please configure the gateway first: it does not exist"],
  gateway_rate_limited: [429, 2003, "Rate limited"],
  gateway_spend_limit: [429, 2003, "Spend limit reached"],
  gateway_spend_unknown: [
    400,
    10521,
    "A spend limit applies, and the cost of this request is unknown",
  ],
  bodies_full: [429, 429, "The memory for request bodies is full: try again"],
  provider_failed: [502, 2005, "Failed to get response from provider"],
  provider_unknown: [400, 2008, "Invalid provider"],
  gateway_unauthorized: [401, 2009, "Unauthorized: missing or invalid gateway token"],
  prompt_blocked: [424, 2016, "Prompt blocked due to security configurations"],
  response_blocked: [424, 2017, "Response blocked due to security configurations"],
  chat_format: [400, 2019, "Chat completion bad format"],
  request_dlp_blocked: [400, 2029, "Request content blocked due to DLP policy violations"],
  response_dlp_blocked: [400, 2030, "Response content blocked due to DLP policy violations"],
  router_failed: [503, 10505, "The automatic router of this gateway failed"],
  scanner_unavailable: [503, 7013, "A check of this gateway cannot be made at the moment"],
  // Rendering: docs/rendering.md
  render_rate_limited: [429, 2001, "Rate limit exceeded"],
  render_internal: [500, 2000, "Internal Error"],
  no_browser: [503, 503, "No browser available. Please try again in a few minutes."],
  certificate: [422, 5000, "The site's certificate is not valid"],
  address_unreachable: [422, 5001, "The site's address is unreachable"],
  load_aborted: [422, 5002, "The page load was aborted"],
  redirect_loop: [422, 5003, "Too many redirects"],
  http2_error: [422, 5004, "HTTP/2 protocol error"],
  name_not_resolved: [422, 5005, "The site's name could not be resolved"],
  connection_closed: [422, 5006, "The site closed the connection"],
  empty_http_error: [422, 5007, "The site answered with an HTTP error and an empty body"],
  connection_refused: [422, 5008, "The site refused the connection"],
  network_error: [422, 5009, "Network error while loading the page"],
  blocked_url: [400, 5010, "The URL is invalid or not allowed"],
  empty_response: [422, 5011, "The site sent no answer"],
  context_destroyed: [422, 6000, "The page navigated away while causey read it"],
  page_crashed: [422, 6001, "The page crashed"],
  render_timeout: [422, 6002, "A timer expired while rendering"],
  json_unfit: [422, 10540, "The model's answer does not fit"],
  json_model_failed: [502, 10541, "The model did not answer"],
  page_too_large: [422, 6003, "The page is too large to capture"],
  page_check_failed: [422, 6004, "The page failed a check that the request asks for"],
  // Search: docs/search.md
  instance_not_found: [404, 7002, "ai_search_not_found"],
  instance_disabled: [403, 10530, "The instance is switched off"],
  more_matches: [400, 10531, "More chunks match than are ordered and counted"],
  invalid_model: [400, 7010, "invalid_model"],
  chat_model_failed: [500, 7011, "The chat model failed to return a valid response"],
  instance_invalid_token: [400, 7012, "instance_invalid_token"],
  max_instances: [403, 7013, "max_instances_reached"],
  filter_or_only_eq: [400, 7015, "filter_or_operator_only_supports_eq_filters"],
  filter_or_one_key: [400, 7016, "filter_or_operator_does_not_support_different_keys"],
  sync_in_cooldown: [429, 7020, "sync_in_cooldown"],
  job_not_found: [404, 7021, "job_not_found"],
  name_exists: [400, 7022, "name_already_exist"],
  invalid_chunk_size: [400, 7036, "invalid_chunk_size"],
  missing_query_chat: [400, 7038, "missing_user_query"],
  missing_query_search: [400, 7039, "missing_user_query"],
  item_not_found: [404, 7041, "item_not_found"],
  item_exists: [409, 7042, "item_key_already_exist"],
  job_not_cancellable: [400, 7046, "job_cannot_be_cancelled"],
  instance_searches_failed: [500, 7049, "one_or_more_instance_searches_failed"],
  requires_managed: [400, 7053, "requires_managed_instance"],
  file_too_large: [413, 7054, "file_exceeds_maximum_size"],
  file_required: [400, 7055, "file_field_is_required"],
  invalid_metadata: [400, 7056, "invalid_metadata_format"],
  invalid_datetime_filter: [400, 7057, "invalid_datetime_filter_value"],
  invalid_filter: [400, 7058, "invalid_metadata_filter"],
  unsupported_file: [400, 7060, "unsupported_file_type"],
  namespace_not_found: [404, 7063, "namespace_not_found"],
  namespace_exists: [409, 7064, "namespace_already_exist"],
  namespace_invalid: [400, 7065, "namespace_invalid"],
  namespace_in_use: [409, 7066, "namespace_in_use"],
  invalid_retrieval_type: [400, 7070, "invalid_retrieval_type"],
  file_name_too_long: [400, 7072, "file_name_too_long"],
  all_searches_failed: [500, 7073, "all_search_methods_failed"],
  too_many_instances: [400, 7074, "too_many_multi_search_instances"],
  search_token_not_found: [404, 7075, "token_not_found"],
  search_token_in_use: [409, 7076, "token_conflict"],
  image_needs_vectors: [400, 7089, "image_query_requires_vector_index"],
  // Webhooks and agents: docs/webhooks.md
  entity_missing: [400, 10420, "The entity identifier is missing from the request"],
  payload_invalid: [400, 10421, "The payload fails validation"],
  signature_invalid: [401, 10422, "The signature is missing or invalid"],
  // Deprecations: docs/deprecations.md
  retired: [410, 10410, "This API was retired"],
  brownout: [410, 10411, "This API is in a brownout before its retirement"],
  retired_parameter: [400, 10412, "A parameter or field of this request was retired"],
  ambiguous_framing: [
    400,
    10413,
    "A request must not have both Transfer-Encoding and Content-Length",
  ],
} as const;

/** The name of a failure in {@link errorKinds}. */
export type ErrorName = keyof typeof errorKinds;

/** The row of a failure. */
export function errorKind(name: ErrorName): ErrorKind {
  const [status, code, message] = errorKinds[name];
  return { status, code, message };
}
