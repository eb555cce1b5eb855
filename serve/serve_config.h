#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hear/end_of_turn.h"

namespace predgen::serve {

/// How many of `connections` one address may have: some are left for others, but most may come from
/// a proxy.
constexpr int64_t share_of_address(int64_t connections) { return (3 * connections + 3) / 4; }

/// Limits on what one client, or all of them, can make the server hold or wait for.
struct HttpLimits {
  int64_t connections = 64;
  int64_t connections_per_address = 0;  // 0: share_of_address()
  int64_t header_bytes = 16 << 10;
  int64_t body_bytes = 1 << 20;
  int64_t upload_bytes = 25 << 20;  // of one that uploads a file
  double header_seconds = 5;        // until the header of a connection's first request
  double idle_seconds = 60;         // until that of a later one
  double body_seconds = 20;         // until the rest of the request
  double send_seconds = 20;         // until a client has taken what is sent to it
  double grace_seconds = 20;        // for answers in progress at a stop
  // Of a WebSocket:
  int64_t message_bytes = 2 << 20;  // from the client
  int64_t queue_bytes = 16 << 20;   // for the client, not read yet
  double silence_seconds = 600;     // without a message of the client
  double session_seconds = 3600;    // in total

  int64_t of_one_address() const {
    return connections_per_address > 0 ? connections_per_address : share_of_address(connections);
  }
};

/// Settings of conversations by the realtime API.
struct RealtimeConfig {
  int64_t max_sessions = 16;
  std::string verifier = "greedy";  // one of verifier_choices()
  int64_t top_k = 3;
  std::string preset = "default";
  std::string system_prompt = "auto";  // for clients that give no instructions
  std::string recogniser = "auto";     // of recognisers_named(), none, or auto: base if it is there
  std::string language = "en";         // that it hears, if it has several
  EndWaits waits{};                    // RealtimeOffer
  bool drafts_yield = true;            // to answers of others (Engine::yield_speculation)
  int64_t turn_draft_tokens = 0;       // TurnConfig
};

/// The service that Home Assistant talks to.
struct WyomingConfig {
  std::string host = "127.0.0.1";
  int64_t port = -1;  // -1: there is no such service; 0: a free one
  int64_t connections = 16;
  int64_t max_conversations = 8;      // including those that wait for their next turn
  bool insecure_without_key = false;  // other machines may connect
};

/// configs/runtime/serve.yaml has the same keys.
struct ServeConfig {
  std::string host = "127.0.0.1";  // an address, or localhost
  int64_t port = 8080;             // 0: a free one
  std::string model_name{};        // what clients ask for; empty: the model folder's name
  std::vector<std::string> api_keys_sha256{};
  std::vector<std::string> allowed_hosts{};    // names for this machine, where there are no keys
  std::vector<std::string> allowed_origins{};  // of web pages served elsewhere that may ask
  int64_t max_sessions = 16;                   // answers at a time
  int64_t kept_conversations = 16;
  int64_t max_context = 8192;    // tokens of prompt and answer; the model may have fewer positions
  int64_t max_new_tokens = 512;  // of a chat answer without a limit of its own
  bool think = false;            // models that can, where a request does not say
  bool let_repeat = false;       // do not end answers that repeat themselves
  int64_t pass_tokens = 512;
  int64_t pool_positions = 0;  // of all caches together; 0: by free memory
  std::string decoder = "ar";  // one of generator_names()
  RealtimeConfig realtime{};
  WyomingConfig wyoming{};
  HttpLimits limits{};
};

/// UserError for unknown keys, wrong values, and invalid hashes. `file` empty: the defaults.
ServeConfig read_serve_config(const std::filesystem::path& file,
                              const std::vector<std::string>& overrides);

/// UserError if other machines, or any web page, could ask without a key, unless that is wanted,
/// and for allowed hosts or origins that are none. Wyoming has no keys, and its own setting;
/// `insecure_without_key` is the one for HTTP.
void check_access(const ServeConfig& config, bool insecure_without_key);

}  // namespace predgen::serve
