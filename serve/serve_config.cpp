#include "serve/serve_config.h"

#include <algorithm>

#include "core/config.h"
#include "core/error.h"

namespace predgen::serve {
namespace {

bool is_sha256(const std::string& hash) {
  return hash.size() == 64 && hash.find_first_not_of("0123456789abcdef") == std::string::npos;
}

Settings settings_of(HttpLimits& limits) {
  constexpr double kDay = 86400;
  return {{"connections", limits.connections, between(1, 4096), "at a time"},
          {"connections_per_address", limits.connections_per_address, between(0, 4096),
           "even if it is a proxy's or this machine's; 0: three quarters of all"},
          {"header_bytes", limits.header_bytes, between(256, 1 << 20), "of a request"},
          {"body_bytes", limits.body_bytes, between(256, 1 << 30), "of a request"},
          {"upload_bytes", limits.upload_bytes, between(256, 1 << 30),
           "of a request with a sound file; 4 such files are taken at a time"},
          {"header_seconds", limits.header_seconds, between(0.01, kDay),
           "for the header of a connection's first request"},
          {"idle_seconds", limits.idle_seconds, between(0.01, kDay), "for that of a later one"},
          {"body_seconds", limits.body_seconds, between(0.01, kDay), "for the rest of the request"},
          {"send_seconds", limits.send_seconds, between(0.01, kDay),
           "for a client to take what is sent to it"},
          {"grace_seconds", limits.grace_seconds, between(0, kDay),
           "for answers still under way at a stop"},
          {"message_bytes", limits.message_bytes, between(256, 1 << 30),
           "of a WebSocket client: 30 s of sound"},
          {"queue_bytes", limits.queue_bytes, between(1024, 1 << 30),
           "that wait for such a client; one that lets more pile up is cut off"},
          {"silence_seconds", limits.silence_seconds, between(0.01, kDay),
           "of such a client, which is then told and disconnected"},
          {"session_seconds", limits.session_seconds, between(0.01, kDay), "of such a connection"}};
}

Settings settings_of(WyomingConfig& wyoming) {
  return {
      {"host", wyoming.host, "it has no keys: other addresses need insecure_without_key"},
      Setting("port", wyoming.port, between(-1, 65535),
              "also be a Wyoming service, for Home Assistant; -1: there is none; 0: a free port")
          .as("--wyoming-port"),
      {"connections", wyoming.connections, between(1, 1024),
       "at a time; three quarters at most for one address"},
      {"max_conversations", wyoming.max_conversations, between(1, 1024),
       "with those that wait for their next turn; three quarters at most busy for one address"},
      Setting(
          "satellites", wyoming.satellites,
          "HOST:PORT of a satellite (wyoming-satellite) to speak with, with a wake phrase of its "
          "own; as a flag it may be repeated")
          .as("--satellite"),
      {"announce", wyoming.announce,
       "tell the local network of the service (zeroconf, by avahi-publish-service), unless host is "
       "this machine alone"},
      {"insecure_without_key", wyoming.insecure_without_key, "any other machine may ask"}};
}

Settings tools_settings(ServeConfig& config) {
  const Settings own{
      Setting("file", config.tools.file,
              "of tool servers (\"mcpServers\"), such as examples/home.json; empty: none")
          .as("--mcp"),
      Setting("api_keys_sha256", config.tools.api_keys_sha256,
              "those of the keys above whose requests may use the tools; none: all")
          .must(
              [&config] {
                return std::ranges::all_of(
                    config.tools.api_keys_sha256, [&](const std::string& key) {
                      return std::ranges::find(config.api_keys_sha256, key) !=
                             config.api_keys_sha256.end();
                    });
              },
              "must be some of the sums in api_keys_sha256 above"),
      Setting("constrain_names", config.tools.constrain_names,
              "calls of Home Assistant's functions are such as the home in its system prompt "
              "can carry out")
          .as("--constrain-names")};
  return together({own, only(settings_of(config.tools.rounds),
                             {"tool_rounds", "act_within", "early_calls", "early_stable",
                              "early_seconds", "early_age"})});
}

Settings realtime_settings(ServeConfig& config, const Settings& session) {
  RealtimeConfig& realtime = config.realtime;
  const Settings hearing = settings_of(realtime.hearing);
  Settings settings{{"max_sessions", realtime.max_sessions, between(1, 1024),
                     "at a time, three quarters at most for one client; more are refused"}};
  for (const Setting& setting :
       together({only(session, {"verifier", "top_k", "preset", "system_prompt"}), hearing})) {
    const bool has_flag = setting.name == "system_prompt" || setting.name == "recogniser" ||
                          setting.name == "language";
    settings.push_back(has_flag ? setting.as(setting.flag_names()) : setting);
  }
  settings.emplace_back("drafts_yield", realtime.drafts_yield,
                        "to answers of others; false: whatever is drafted runs in the next pass");
  settings.push_back(only(session, {"turn_draft_tokens"}).front());
  return settings;
}

void check_host(const std::string& host) {
  if (!host.empty() && host.find_first_of(":/* ") == std::string::npos) return;
  throw UserError("--allowed-host {}: must be a name alone, such as pi.example.org", host);
}

void check_origin(const std::string& origin, bool has_keys) {
  if (origin == "*" || origin == "null") {
    if (has_keys) return;
    throw UserError(
        "--allowed-origin {}: any web page could ask without a key: give its origin, such as "
        "http://localhost:3000, or api_keys_sha256",
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

bool is_local(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Settings settings_of(ServeConfig& config) {
  const Settings session = settings_of(static_cast<SessionOptions&>(config));
  return together(
      {{Setting("host", config.host,
                "address to listen at; 127.0.0.1: this machine only; 0.0.0.0: all of its "
                "addresses, which needs a key")
            .as("--host"),
        Setting("port", config.port, between(0, 65535), "0: a free one").as("--port"),
        {"model_name", config.model_name, "what clients ask for; empty: the model folder's name"},
        Setting("api_keys_sha256", config.api_keys_sha256,
                "for each key, what `printf %s KEY | sha256sum` prints; none: no key is needed")
            .must([&config] { return std::ranges::all_of(config.api_keys_sha256, is_sha256); },
                  "must be SHA-256 sums of keys, 64 digits of 0-9a-f, as sha256sum prints them"),
        Setting("allowed_hosts", config.allowed_hosts,
                "NAME by which this machine may be asked without keys, beside addresses and names "
                "of your own network (localhost, *.local, *.lan, *.internal, *.home.arpa); as a "
                "flag it may be repeated")
            .as("--allowed-host"),
        Setting("allowed_origins", config.allowed_origins,
                "ORIGIN of web pages served elsewhere that may ask, such as http://localhost:3000; "
                "as a flag it may be repeated")
            .as("--allowed-origin"),
        {"max_sessions", config.max_sessions, between(1, 1024),
         "answers at a time, three quarters at most for one client; more are refused (429)"},
        {"cached_conversations", config.cached_conversations, between(0, 4096),
         "whose caches wait for their next request"},
        Setting("prefix_cache", config.prefix_cache,
                "DIR that keeps what the model has read of prompts' beginnings (system message, "
                "functions) across restarts, as files; empty: none")
            .as("--prefix-cache"),
        {"prefix_cache_gib", config.prefix_cache_gib, between(0.001, 1e6),
         "that these files may take; those used longest ago go first"}},
       only(session, {"max_context", "max_new_tokens", "think", "let_repeat", "pass_tokens"}),
       {{"pool_positions", config.pool_positions, at_least(0),
         "of all caches together; beyond them idle ones go to host memory; 0: by free memory"}},
       only(session, {"decoder"}),
       {{"realtime", realtime_settings(config, session)},
        {"wyoming", settings_of(config.wyoming)},
        {"tools", tools_settings(config)},
        {"limits", settings_of(config.limits)}}});
}

ServeConfig read_serve_config(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides) {
  ConfigReader reader = file.empty() ? ConfigReader::parse("{}", "command line", overrides)
                                     : ConfigReader::load(file, overrides);
  reader.accept_old_name("kept_conversations", "cached_conversations");
  ServeConfig config;
  read_settings(reader, settings_of(config));
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

int64_t pool_positions(const ServeConfig& config, int64_t max_positions, const KvLayout& layout,
                       int64_t free) {
  const int64_t context = std::min(config.max_context, max_positions);
  if (config.pool_positions == 0) {
    const int64_t room = layout.options.device().is_cpu() ? free / 2 : free / 5 * 4;
    return std::max(context, room / layout.bytes_per_position());
  }
  if (config.pool_positions < context) {
    throw UserError(
        "pool_positions {}: a conversation of {} tokens does not fit: give at least that many, or "
        "lower max_context",
        config.pool_positions, context);
  }
  return config.pool_positions;
}

}  // namespace predgen::serve
