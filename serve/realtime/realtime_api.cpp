#include "serve/realtime/realtime_api.h"

#include <optional>
#include <sstream>
#include <vector>

#include "core/text.h"
#include "serve/api_error.h"
#include "serve/http/url.h"
#include "serve/realtime/realtime_connection.h"

namespace predgen::serve {
namespace {

constexpr std::string_view kProtocol = "realtime", kKeyProtocol = "openai-insecure-api-key.";
constexpr std::string_view kBeta = "realtime=v1", kBetaProtocol = "openai-beta.realtime-v1";

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.emplace_back(trimmed(part));
  }
  return parts;
}

/// The value of a query's `name`; empty: there is none.
std::string query_value(const std::string& query, const std::string& name) {
  for (const std::string& part : split(query, '&')) {
    if (part.starts_with(name + "=")) return percent_decoded(part.substr(name.size() + 1));
  }
  return {};
}

bool offers(const std::string& protocols, std::string_view protocol) {
  for (const std::string& one : split(protocols, ',')) {
    if (one == protocol) return true;
  }
  return false;
}

}  // namespace

std::string offered_key(const std::string& protocols) {
  for (const std::string& one : split(protocols, ',')) {
    if (one.starts_with(kKeyProtocol)) return "Bearer " + one.substr(kKeyProtocol.size());
  }
  return {};
}

void RealtimeApi::serve(const HttpRequest& request, const std::string& client, HttpReply& reply) {
  if (!request.wants_web_socket) {
    throw ApiError({.status = 426, .code = "upgrade_required"}, "this path takes WebSockets only");
  }
  const std::string model = query_value(request.query, "model");
  if (!is_model_named(model, host_.offer)) {
    throw ApiError(
        {.status = 404, .param = "model", .code = "model_not_found"},
        fmt::format("the model '{}' is not here: ask for '{}'", model, host_.offer.model));
  }
  const auto slot = sessions_.enter(client);
  std::optional<ApiError> refused;
  if (!slot) refused.emplace(sessions_.refusal("sessions are under way"));
  const bool is_beta =
      request.beta.find(kBeta) != std::string::npos || offers(request.protocols, kBetaProtocol);
  RealtimeConnection connection(host_, std::move(refused), client, is_beta);
  reply.open_web_socket(connection,
                        offers(request.protocols, kProtocol) ? std::string(kProtocol) : "");
}

}  // namespace predgen::serve
