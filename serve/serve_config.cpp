#include "serve/serve_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/config.h"
#include "core/error.h"
#include "hear/make_recogniser.h"
#include "hear/web_socket_url.h"
#include "runtime/converse/preset.h"
#include "runtime/converse/session_options.h"
#include "runtime/generate/make_generator.h"

namespace predgen::serve {
namespace {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

bool is_sha256(const std::string& hash) {
  return hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
}

void read_limits(ConfigReader limits, HttpLimits& into) {
  limits.optional<int64_t>("connections", into.connections, 1, 4096);
  limits.optional<int64_t>("connections_per_address", into.connections_per_address, 0, 4096);
  limits.optional<int64_t>("header_bytes", into.header_bytes, 256, 1 << 20);
  limits.optional<int64_t>("body_bytes", into.body_bytes, 256, 1 << 30);
  limits.optional<int64_t>("upload_bytes", into.upload_bytes, 256, 1 << 30);
  limits.optional<double>("header_seconds", into.header_seconds, 0.01, 86400);
  limits.optional<double>("idle_seconds", into.idle_seconds, 0.01, 86400);
  limits.optional<double>("body_seconds", into.body_seconds, 0.01, 86400);
  limits.optional<double>("send_seconds", into.send_seconds, 0.01, 86400);
  limits.optional<double>("grace_seconds", into.grace_seconds, 0, 86400);
  limits.optional<int64_t>("message_bytes", into.message_bytes, 256, 1 << 30);
  limits.optional<int64_t>("queue_bytes", into.queue_bytes, 1024, 1 << 30);
  limits.optional<double>("silence_seconds", into.silence_seconds, 0.01, 86400);
  limits.optional<double>("session_seconds", into.session_seconds, 0.01, 86400);
}

std::vector<std::pair<std::string, std::string>> as_choices(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> choices;
  for (const std::string& name : names) choices.emplace_back(name, name);
  return choices;
}

void read_waits(ConfigReader& realtime, EndWaits& into) {
  double shortest = static_cast<double>(into.shortest_ms) / 1e3;
  double longest = static_cast<double>(into.longest_ms) / 1e3;
  realtime.optional<double>("shortest_wait", shortest, 0.05, 10);
  realtime.optional<double>("longest_wait", longest, 0.05, 10);
  if (shortest > longest) {
    realtime.problem("shortest_wait",
                     fmt::format("{} is longer than longest_wait, {}", shortest, longest));
  }
  into = {.shortest_ms = std::llround(shortest * 1e3), .longest_ms = std::llround(longest * 1e3)};
}

void read_realtime(ConfigReader realtime, RealtimeConfig& into) {
  realtime.optional<int64_t>("max_sessions", into.max_sessions, 1, 1024);
  realtime.choice("verifier", into.verifier, as_choices(verifier_choices()));
  realtime.optional<int64_t>("top_k", into.top_k, 1, 1000);
  std::vector<std::string> names;
  for (const Preset& preset : presets()) names.push_back(preset.name);
  realtime.choice("preset", into.preset, as_choices(names));
  realtime.optional("system_prompt", into.system_prompt);
  realtime.optional("recogniser", into.recogniser);
  realtime.optional("language", into.language);
  read_waits(realtime, into.waits);
  realtime.optional("drafts_yield", into.drafts_yield);
  realtime.optional<int64_t>("turn_draft_tokens", into.turn_draft_tokens, 0, kAny);
  if (!is_recogniser_url(into.recogniser)) return;
  try {
    parse_web_socket_url(into.recogniser);
  } catch (const UserError& error) {
    realtime.problem("recogniser", error.what());
  }
}

void read_wyoming(ConfigReader wyoming, WyomingConfig& into) {
  wyoming.optional("host", into.host);
  wyoming.optional<int64_t>("port", into.port, -1, 65535);
  wyoming.optional<int64_t>("connections", into.connections, 1, 1024);
  wyoming.optional<int64_t>("max_conversations", into.max_conversations, 1, 1024);
  wyoming.optional("insecure_without_key", into.insecure_without_key);
}

bool is_local(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

void check_host(const std::string& host) {
  if (!host.empty() && host.find_first_of(":/* ") == std::string::npos) return;
  throw UserError("--allowed-host {}: must be a name alone, such as pi.example.org", host);
}

void check_origin(const std::string& origin, bool has_keys) {
  if (origin == "*" || origin == "null") {
    if (has_keys) return;
    throw UserError(
        "--allowed-origin {}: any web page could ask without a key: give its origin, "
        "such as http://localhost:3000, or api_keys_sha256",
        origin);
  }
  const size_t host = origin.find("://");
  const bool is_origin = host != std::string::npos && host > 0 && origin.size() > host + 3 &&
                         origin.find('/', host + 3) >= origin.size() - 1 &&
                         origin.find_first_of("* ,") == std::string::npos;
  if (is_origin) return;
  throw UserError(
      "--allowed-origin {}: must be the beginning of a page's address, such as "
      "http://localhost:3000",
      origin);
}

}  // namespace

ServeConfig read_serve_config(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides) {
  ServeConfig config;
  ConfigReader reader = file.empty() ? ConfigReader::parse("{}", "command line", overrides)
                                     : ConfigReader::load(file, overrides);
  reader.optional("host", config.host);
  reader.optional<int64_t>("port", config.port, 0, 65535);
  reader.optional("model_name", config.model_name);
  reader.optional("api_keys_sha256", config.api_keys_sha256);
  if (!std::ranges::all_of(config.api_keys_sha256, is_sha256)) {
    reader.problem("api_keys_sha256",
                   "must be SHA-256 sums of keys, 64 digits of 0-9a-f, as sha256sum prints them");
  }
  reader.optional("allowed_hosts", config.allowed_hosts);
  reader.optional("allowed_origins", config.allowed_origins);
  reader.optional<int64_t>("max_sessions", config.max_sessions, 1, 1024);
  reader.optional<int64_t>("kept_conversations", config.kept_conversations, 0, 4096);
  reader.optional<int64_t>("max_context", config.max_context, 1, kAny);
  reader.optional<int64_t>("max_new_tokens", config.max_new_tokens, 1, kAny);
  reader.optional("think", config.think);
  reader.optional("let_repeat", config.let_repeat);
  reader.optional<int64_t>("pass_tokens", config.pass_tokens, 1, kAny);
  reader.optional<int64_t>("pool_positions", config.pool_positions, 0, kAny);
  reader.choice("decoder", config.decoder, as_choices(generator_names()));
  read_realtime(reader.section("realtime"), config.realtime);
  read_wyoming(reader.section("wyoming"), config.wyoming);
  read_limits(reader.section("limits"), config.limits);
  reader.finish();
  return config;
}

void check_access(const ServeConfig& config, bool insecure_without_key) {
  for (const std::string& host : config.allowed_hosts) check_host(host);
  for (const std::string& origin : config.allowed_origins) {
    check_origin(origin, !config.api_keys_sha256.empty());
  }
  if (!insecure_without_key && !is_local(config.host) && config.api_keys_sha256.empty()) {
    throw UserError(
        "host {}: other machines could ask without a key: give api_keys_sha256 (printf %s KEY | "
        "sha256sum), or --insecure-without-key",
        config.host);
  }
  const WyomingConfig& wyoming = config.wyoming;
  if (wyoming.port >= 0 && !wyoming.insecure_without_key && !is_local(wyoming.host)) {
    throw UserError(
        "wyoming.host {}: other machines could ask, for Wyoming has no keys: give 127.0.0.1, or "
        "wyoming.insecure_without_key=true",
        wyoming.host);
  }
}

}  // namespace predgen::serve
