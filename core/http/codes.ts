/** One kind of failure: its HTTP status, its number on the wire and its default message. */
export interface ErrorKind {
  readonly status: number;
  readonly code: number;
  readonly message: string;
}

const kind = (status: number, code: number, message: string): ErrorKind => ({ status, code, message });

/**
 * Every failure that causey reports, by name. The numbers are the ones that the official clients know;
 * where the hosted platform has none, the HTTP status is the number, and 104xx are ours.
 */
export const errorKinds = {
  // All capabilities
  invalid_request: kind(400, 400, "Invalid request"),
  unauthorized: kind(401, 10000, "Authentication error"),
  forbidden: kind(403, 10403, "The token lacks the permission for this request"),
  not_found: kind(404, 404, "Not found"),
  no_route: kind(404, 7003, "No route for that URI"),
  method_not_allowed: kind(405, 10405, "Method not allowed"),
  request_timeout: kind(408, 408, "Request timed out"),
  conflict: kind(409, 409, "Already exists"),
  too_large: kind(413, 413, "Request entity too large"),
  upgrade_required: kind(426, 426, "This route speaks WebSocket"),
  rate_limited: kind(429, 2001, "Rate limit exceeded"),
  internal: kind(500, 10500, "Internal error"),
  not_part: kind(501, 10501, "Not part of causey"),
  invalid_options: kind(500, 10502, "Invalid options"),
  unavailable: kind(503, 10503, "Temporarily unavailable"),
  missing_capability: kind(503, 10504, "This runtime lacks a capability that the request needs"),
  // Gateway (reference section 1.5)
  gateway_unknown: kind(400, 2001, "Please configure the gateway first: it does not exist"),
  gateway_rate_limited: kind(429, 2003, "Rate limited"),
  gateway_spend_limit: kind(429, 2003, "Spend limit reached"),
  provider_failed: kind(502, 2005, "Failed to get response from provider"),
  provider_unknown: kind(400, 2008, "Invalid provider"),
  gateway_unauthorized: kind(401, 2009, "Unauthorized: missing or invalid gateway token"),
  prompt_blocked: kind(424, 2016, "Prompt blocked by guardrails"),
  response_blocked: kind(424, 2017, "Response blocked by guardrails"),
  chat_format: kind(400, 2019, "Chat completion bad format"),
  request_dlp_blocked: kind(400, 2029, "Request blocked by data loss prevention"),
  response_dlp_blocked: kind(400, 2030, "Response blocked by data loss prevention"),
  // Rendering (reference section 1.6)
  render_rate_limited: kind(429, 2001, "Rate limit exceeded"),
  render_internal: kind(500, 2000, "Internal Error"),
  no_browser: kind(503, 503, "No browser available. Please try again in a few minutes."),
  certificate: kind(422, 5000, "The site's certificate is not valid"),
  address_unreachable: kind(422, 5001, "The site's address is unreachable"),
  load_aborted: kind(422, 5002, "The page load was aborted"),
  redirect_loop: kind(422, 5003, "Too many redirects"),
  http2_error: kind(422, 5004, "HTTP/2 protocol error"),
  name_not_resolved: kind(422, 5005, "The site's name could not be resolved"),
  connection_closed: kind(422, 5006, "The site closed the connection"),
  empty_http_error: kind(422, 5007, "The site answered an HTTP error with an empty body"),
  connection_refused: kind(422, 5008, "The site refused the connection"),
  network_error: kind(422, 5009, "Network error while loading the page"),
  blocked_url: kind(400, 5010, "The URL is invalid or not allowed"),
  empty_response: kind(422, 5011, "The site answered nothing"),
  context_destroyed: kind(422, 6000, "The page went away while it was read"),
  page_crashed: kind(422, 6001, "The page crashed"),
  render_timeout: kind(422, 6002, "A timer expired while rendering"),
  page_too_large: kind(422, 6003, "The page is too large to capture"),
  // Search (reference section 1.7)
  instance_not_found: kind(404, 7002, "ai_search_not_found"),
  invalid_model: kind(400, 7010, "invalid_model"),
  chat_model_failed: kind(500, 7011, "The chat model failed to return a valid response"),
  max_instances: kind(403, 7013, "max_instances_reached"),
  filter_or_only_eq: kind(400, 7015, "filter_or_operator_only_supports_eq_filters"),
  filter_or_one_key: kind(400, 7016, "filter_or_operator_does_not_support_different_keys"),
  sync_in_cooldown: kind(429, 7020, "sync_in_cooldown"),
  job_not_found: kind(404, 7021, "job_not_found"),
  name_exists: kind(400, 7022, "name_already_exist"),
  invalid_chunk_size: kind(400, 7036, "invalid_chunk_size"),
  missing_query_chat: kind(400, 7038, "missing_user_query"),
  missing_query_search: kind(400, 7039, "missing_user_query"),
  item_not_found: kind(404, 7041, "item_not_found"),
  item_exists: kind(409, 7042, "item_key_already_exist"),
  job_not_cancellable: kind(400, 7046, "job_cannot_be_cancelled"),
  instance_searches_failed: kind(500, 7049, "one_or_more_instance_searches_failed"),
  requires_managed: kind(400, 7053, "requires_managed_instance"),
  file_too_large: kind(413, 7054, "file_exceeds_maximum_size"),
  file_required: kind(400, 7055, "file_field_is_required"),
  invalid_metadata: kind(400, 7056, "invalid_metadata_format"),
  invalid_datetime_filter: kind(400, 7057, "invalid_datetime_filter_value"),
  invalid_filter: kind(400, 7058, "invalid_metadata_filter"),
  unsupported_file: kind(400, 7060, "unsupported_file_type"),
  namespace_not_found: kind(404, 7063, "namespace_not_found"),
  namespace_exists: kind(409, 7064, "namespace_already_exist"),
  namespace_invalid: kind(400, 7065, "namespace_invalid"),
  invalid_retrieval_type: kind(400, 7070, "invalid_retrieval_type"),
  file_name_too_long: kind(400, 7072, "file_name_too_long"),
  all_searches_failed: kind(500, 7073, "all_search_methods_failed"),
  too_many_instances: kind(400, 7074, "too_many_multi_search_instances"),
  search_token_not_found: kind(404, 7075, "token_not_found"),
  image_needs_vectors: kind(400, 7089, "image_query_requires_vector_index"),
  // Webhooks and agents (spec, Errors: webhook handler status codes)
  entity_missing: kind(400, 10420, "The entity identifier is missing from the request"),
  payload_invalid: kind(400, 10421, "The payload fails validation"),
  signature_invalid: kind(401, 10422, "The signature is missing or invalid"),
  // Deprecations (reference section 1.4)
  retired: kind(410, 10410, "This API was retired"),
  brownout: kind(410, 10411, "This API is in a brownout before its retirement"),
  retired_parameter: kind(400, 10412, "A parameter or field of this request was retired"),
  ambiguous_framing: kind(400, 10413, "Requests with both Transfer-Encoding and Content-Length are declined"),
} as const satisfies Record<string, ErrorKind>;

/** The name of a failure in {@link errorKinds}. */
export type ErrorName = keyof typeof errorKinds;
