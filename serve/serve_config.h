#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "act/tool_runner.h"
#include "core/setting.h"
#include "hear/make_recogniser.h"
#include "model/sequence_state.h"
#include "runtime/converse/session_options.h"
#include "runtime/converse/tool_round_options.h"

namespace predgen::serve {

/// How many of `connections` one address may have: some are left for others, but most may come from
/// a proxy.
constexpr int64_t share_of_address(int64_t connections) { return (3 * connections + 3) / 4; }

/// Limits on what one client, or all of them, can make the server hold or wait for.
struct HttpLimits {
  int64_t connections = 64, connections_per_address = 0;
  int64_t header_bytes = 16 << 10, body_bytes = 1 << 20, upload_bytes = 25 << 20;
  double header_seconds = 5, idle_seconds = 60, body_seconds = 20, send_seconds = 20;
  double grace_seconds = 20;
  // Of a WebSocket:
  int64_t message_bytes = 2 << 20, queue_bytes = 16 << 20;
  double silence_seconds = 600, session_seconds = 3600;

  int64_t of_one_address() const {
    return connections_per_address > 0 ? connections_per_address : share_of_address(connections);
  }
};

/// Settings of conversations by the realtime API.
struct RealtimeConfig {
  int64_t max_sessions = 16;
  HearingOptions hearing{.recogniser = "auto"};
  bool drafts_yield = true;  // Engine::yield_speculation
};

/// The service that Home Assistant talks to.
struct WyomingConfig {
  std::string host = "127.0.0.1";
  int64_t port = -1;  // -1: there is no such service
  int64_t connections = 16, max_conversations = 8;
  std::vector<std::string> satellites{};  // HOST:PORT each
  bool announce = true;                   // by zeroconf, where others can connect
  bool insecure_without_key = false;
};

/// Tools that the server runs itself, and how it calls those of its clients.
struct ToolsConfig {
  std::string file{};                          // of tool servers; empty: none
  std::vector<std::string> api_keys_sha256{};  // keys whose requests may use them; empty: all
  bool constrain_names =
      false;  // calls are such as the home in the prompt can carry out (home_names.h)
  /// In conversations, without the filler, which nobody says; max_rounds in all answers.
  ToolRoundOptions rounds{};
};

/// What settings_of() says, and in configs/runtime/serve.yaml. Of its SessionOptions, `max_context`
/// and the like count for all answers.
struct ServeConfig : SessionOptions {
  ServeConfig() { max_new_tokens = 512; }

  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::string model_name{};  // empty: the model folder's name
  std::vector<std::string> api_keys_sha256{}, allowed_hosts{}, allowed_origins{};
  int64_t max_sessions = 16, cached_conversations = 16;
  std::string prefix_cache{};  // a folder; empty: none
  double prefix_cache_gib = 2;
  int64_t pool_positions = 0;  // 0: by free memory
  RealtimeConfig realtime{};
  WyomingConfig wyoming{};
  ToolsConfig tools{};
  HttpLimits limits{};
};

Settings settings_of(ServeConfig& config);

/// UserError for unknown keys, wrong values, and invalid hashes. `file` empty: the defaults.
ServeConfig read_serve_config(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides);

/// Whether only this machine can reach an address.
bool is_local(const std::string& host);

/// UserError if other machines, or any web page, could ask without a key, unless that is wanted,
/// and for allowed hosts or origins that are none. Wyoming has no keys, and its own setting;
/// `insecure_without_key` is the one for HTTP.
void check_access(const ServeConfig& config, bool insecure_without_key);

/// Tools of the server itself, how they are called, and for whom. Borrows the runner.
struct OwnTools {
  act::ToolRunner& runner;
  ToolsConfig config{};

  /// `client`: as Access::check() has it.
  bool may_use(const std::string& client) const {
    const std::vector<std::string>& keys = config.api_keys_sha256;
    return keys.empty() || std::ranges::find(keys, client) != keys.end();
  }
};

/// Positions of the engine's pool: config.pool_positions, or if that is 0 as many as fit into
/// `free` bytes, less a part for passes (a fifth) and, on a CPU, for swapped-out caches (half), but
/// at least one conversation. UserError if a conversation of max_context tokens, of which a model
/// may have fewer, does not fit into config.pool_positions.
int64_t pool_positions(const ServeConfig& config, int64_t max_positions, const KvLayout& layout,
                       int64_t free);

}  // namespace predgen::serve
