#include "serve/openai/openai_api.h"

#include <algorithm>
#include <ctime>
#include <map>
#include <utility>

#include "core/hash.h"
#include "core/text.h"
#include "core/version.h"
#include "serve/api_error.h"
#include "serve/http/http.h"
#include "serve/openai/completion_request.h"
#include "serve/page/page_file.h"
#include "serve/realtime/realtime_api.h"

namespace predgen::serve {
namespace {

constexpr std::string_view kScheme = "bearer ";  // in any case

bool equals(std::string_view one, std::string_view other) {
  if (one.size() != other.size()) return false;
  unsigned char difference = 0;
  for (size_t i = 0; i < one.size(); ++i) {
    difference |= static_cast<unsigned char>(one[i] ^ other[i]);
  }
  return difference == 0;
}

}  // namespace

std::string ApiKeys::check(std::string_view authorization) const {
  if (sha256_.empty()) return {};
  if (lower_ascii(authorization.substr(0, kScheme.size())) != kScheme) {
    throw ApiError({.status = 401, .code = "missing_api_key"},
                   "an API key is needed, in a header Authorization: Bearer KEY");
  }
  std::string given = sha256_hex(trimmed(authorization.substr(kScheme.size())));
  bool known = false;
  for (const std::string& hash : sha256_) known |= equals(hash, given);
  if (!known) {
    throw ApiError({.status = 401, .code = "invalid_api_key"}, "the API key is not valid");
  }
  return given;
}

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

namespace {

constexpr const char* kChat = "/v1/chat/completions";
constexpr const char* kCompletions = "/v1/completions";
constexpr const char* kResponses = "/v1/responses";
constexpr const char* kSpeech = "/v1/audio/speech";
constexpr const char* kTranscriptions = "/v1/audio/transcriptions";
constexpr const char* kModels = "/v1/models";
constexpr const char* kRealtime = "/v1/realtime";
constexpr const char* kPage = "/";
constexpr const char* kMetrics = "/metrics";
/// The method of each path.
const std::map<std::string, std::string> kPaths{
    {kChat, "POST"},           {kCompletions, "POST"}, {kResponses, "POST"}, {kSpeech, "POST"},
    {kTranscriptions, "POST"}, {kModels, "GET"},       {kRealtime, "GET"},   {kHealthPath, "GET"},
    {kMetrics, "GET"},         {kPage, "GET"}};

std::string list_of_paths() {
  std::string list;
  for (const auto& [path, method] : kPaths) {
    list = joined(list, ", ", fmt::format("{} {}", method, path));
  }
  return list;
}

/// For a path that ends like one of these but begins otherwise (/v1/v1/.., without /v1, as other
/// servers have it): which one was meant.
ApiError unknown_url(const std::string& path) {
  std::string hint = "the paths are " + list_of_paths();
  size_t length = 0;  // of the longest end that is the same: /completions is another path
  for (const auto& [known, method] : kPaths) {
    const bool is_of_api = known.starts_with("/v1/");
    if (is_of_api && path.ends_with(known.substr(3)) && known.size() > length) {
      hint = fmt::format("did you mean {} {}?", method, known);
      length = known.size();
    }
  }
  return ApiError({.status = 404, .code = "unknown_url"},
                  fmt::format("there is nothing at {}: {}", shortened(path), hint));
}

HttpAnswer to_answer(const PageFile& file) {
  return {.body = std::string(file.content),
          .type = file.type,
          .headers = {{"Content-Security-Policy",
                       "default-src 'self'; img-src data:; frame-ancestors 'none'"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Cache-Control", "no-cache"}}};
}

HttpAnswer to_answer(const ApiError& error, const std::string& endpoint) {
  HttpAnswer answer{.status = error.status(), .body = error.json()};
  if (error.status() == 401) answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  if (error.status() == 405) answer.headers.emplace_back("Allow", kPaths.at(endpoint));
  if (error.status() == 429 || error.status() == 503)
    answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

}  // namespace

OpenAiApi::OpenAiApi(Completer& completer, EngineLock& engine_lock, ServeMetrics& metrics,
                     RealtimeApi& realtime, std::string model_name, Access access)
    : completer_(completer),
      engine_lock_(engine_lock),
      metrics_(metrics),
      realtime_(realtime),
      completions_(completer, engine_lock, model_name),
      speech_(realtime.host(), realtime.max_sessions()),
      transcriptions_(realtime.host(), realtime.max_sessions()),
      responses_(completer, engine_lock, model_name),
      model_name_(std::move(model_name)),
      created_(std::time(nullptr)),
      access_(std::move(access)) {}

std::string OpenAiApi::endpoint(const std::string& path) const {
  if (path.starts_with(std::string(kModels) + "/")) return kModels;
  if (find_page_file(path)) return kPage;
  return kPaths.contains(path) ? path : "other";
}

void OpenAiApi::handle(const HttpRequest& request, HttpReply& reply, const std::stop_token& stop) {
  const std::string path = plain_path(request.path);
  const std::string to = endpoint(path);
  if (access_.is_allowed_origin(request.origin)) {
    reply.add_header("Access-Control-Allow-Origin", request.origin);
    reply.add_header("Vary", "Origin");
  }
  const auto refuse = [&](const ApiError& error) {
    reply.send(to_answer(error, to));
    return error.status();
  };
  int status = 0;
  try {
    status = answer(request, path, reply, stop);
  } catch (const ApiError& error) {
    status = refuse(error);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    status = refuse(server_fault("a request", error));
  }
  metrics_.count_request(to, status);
}

std::string OpenAiApi::check_access(const HttpRequest& request, const std::string& path) const {
  return access_.check(request, path == kHealthPath || find_page_file(path));
}

std::shared_ptr<const void> OpenAiApi::begin_upload(const HttpRequest& head) {
  const std::string path = plain_path(head.path);
  if (path != kTranscriptions || head.method != "POST") return nullptr;
  return transcriptions_.begin_upload(check_access(head, path));
}

HttpAnswer OpenAiApi::options(const HttpRequest& request, const std::string& to) const {
  access_.check_place(request);
  const auto known = kPaths.find(to);
  if (known == kPaths.end()) throw unknown_url(plain_path(request.path));
  const std::string methods = known->second == "GET" ? "GET, HEAD, OPTIONS" : "POST, OPTIONS";
  HttpAnswer answer{.status = 204, .headers = {{"Allow", methods}}};
  if (!access_.is_allowed_origin(request.origin)) return answer;
  answer.headers.emplace_back("Access-Control-Allow-Methods", methods);
  answer.headers.emplace_back("Access-Control-Allow-Headers", request.wanted_headers.empty()
                                                                  ? "Authorization, Content-Type"
                                                                  : request.wanted_headers);
  answer.headers.emplace_back("Access-Control-Max-Age", "600");
  return answer;
}

int OpenAiApi::answer(const HttpRequest& request, const std::string& path, HttpReply& reply,
                      const std::stop_token& stop) {
  const std::string to = endpoint(path);
  if (request.method == "OPTIONS") {
    reply.send(options(request, to));
    return 204;
  }
  const std::string client = check_access(request, path);
  const auto known = kPaths.find(to);
  if (known == kPaths.end()) {
    throw unknown_url(path);
  }
  if ((request.method == "HEAD" ? "GET" : request.method) != known->second) {
    throw ApiError({.status = 405, .code = "method_not_allowed"},
                   fmt::format("this path takes {} only", known->second));
  }
  if (request.is_late && to == kHealthPath) {
    reply.send({.status = 503, .body = R"({"status":"draining"})"});
    return 503;
  }
  if (request.is_late && to != kMetrics) {
    throw ApiError({.status = 503, .type = "server_error", .code = "server_stopping"},
                   "the server stops: ask again");
  }
  if (to == kChat) {
    completions_.serve(parse_chat_request(request.body), client, reply, stop);
  } else if (to == kCompletions) {
    completions_.serve(parse_completion_request(request.body), client, reply, stop);
  } else if (to == kResponses) {
    responses_.serve(request, client, reply, stop);
  } else if (to == kTranscriptions) {
    transcriptions_.serve(request, client, reply, stop);
  } else if (to == kSpeech) {
    speech_.serve(request, client, reply, stop);
  } else if (to == kPage) {
    reply.send(to_answer(*find_page_file(path)));
  } else if (to == kRealtime) {
    realtime_.serve(request, client, reply);
    return 101;
  } else if (to == kHealthPath) {
    reply.send({.body = to_text({{"status", "ok"}, {"version", program_version()}})});
  } else if (to == kMetrics) {
    reply.send(metrics());
  } else {
    reply.send({.body = to_text(models(path))});
  }
  return 200;
}

Json OpenAiApi::models(const std::string& path) const {
  const Json model{{"id", model_name_},
                   {"object", "model"},
                   {"created", created_},
                   {"owned_by", "predgen"},
                   {"context_length", completer_.context_length()}};
  if (path == kModels) return {{"object", "list"}, {"data", Json::array({model})}};
  const std::string asked = path.substr(std::string_view(kModels).size() + 1);
  if (asked != plain_path(model_name_)) check_model_name(asked, model_name_);
  return model;
}

HttpAnswer OpenAiApi::metrics() const {
  const std::string text = metrics_.text({.sessions = completer_.num_sessions(),
                                          .conversations = realtime_.num_sessions(),
                                          .waiting = engine_lock_.num_waiting()});
  return {.body = text, .type = "text/plain; version=0.0.4"};
}

}  // namespace predgen::serve
