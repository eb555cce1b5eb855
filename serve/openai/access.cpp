#include "serve/openai/access.h"

#include <algorithm>

#include "core/text.h"
#include "serve/api_error.h"
#include "serve/http/origin.h"
#include "serve/realtime/realtime_api.h"

namespace predgen::serve {
namespace {

std::vector<std::string> without_last_slash(std::vector<std::string> origins) {
  for (std::string& origin : origins) {
    if (origin.ends_with('/')) origin.pop_back();
  }
  return origins;
}

}  // namespace

Access::Access(const ServeConfig& config)
    : keys_(config.api_keys_sha256),
      hosts_(config.allowed_hosts),
      origins_(without_last_slash(config.allowed_origins)) {}

bool Access::is_allowed_origin(const std::string& origin) const {
  return !origin.empty() && std::ranges::any_of(origins_, [&](const std::string& allowed) {
    return allowed == "*" || is_same_name(allowed, origin);
  });
}

std::string Access::check(const HttpRequest& request, bool is_public) const {
  std::string client = request.peer;
  if (keys_.are_needed() && !is_public) {
    client = keys_.check(request.authorization.empty() ? offered_key(request.protocols)
                                                       : request.authorization);
  }
  check_place(request);
  return client;
}

void Access::check_place(const HttpRequest& request) const {
  if (!request.origin.empty() && !is_same_origin(request.origin, request.host) &&
      !is_allowed_origin(request.origin)) {
    throw ApiError({.status = 403, .code = "origin_not_allowed"},
                   fmt::format("web pages of {0} may not ask here: start the server with "
                               "--allowed-origin {0} if they should",
                               shortened(request.origin)));
  }
  // The owner of a domain can point it at this machine, so that its pages have the same origin.
  const std::string name = host_name(request.host);
  const bool is_allowed = std::ranges::any_of(
      hosts_, [&](const std::string& allowed) { return is_same_name(allowed, name); });
  if (!keys_.are_needed() && !is_own_host(request.host) && !is_allowed) {
    throw ApiError({.status = 403, .code = "host_not_allowed"},
                   fmt::format("without API keys, this server cannot be asked by the name '{0}': "
                               "start it with --allowed-host {0}, or ask by an address or a name "
                               "of your own network, such as localhost",
                               shortened(name)));
  }
}

}  // namespace predgen::serve
