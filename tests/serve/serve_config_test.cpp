#include "serve/serve_config.h"

#include <gtest/gtest.h>

#include "core/hash.h"
#include "core/setting.h"
#include "model/device_memory.h"
#include "tests/fakes/expect_user_error.h"

namespace predgen::serve {
namespace {

TEST(ServeConfig, TheShippedFileHoldsTheDefaults) {
  ServeConfig file = read_serve_config("configs/runtime/serve.yaml", {}), none;
  EXPECT_EQ(settings_yaml(settings_of(file)), settings_yaml(settings_of(none)));
}

TEST(ServeConfig, WaitsAreInSeconds) {
  const ServeConfig config =
      read_serve_config("", {"realtime.shortest_wait=0.15", "realtime.longest_wait=0.6"});
  EXPECT_EQ(config.realtime.hearing.waits().shortest_ms, 150);
  EXPECT_EQ(config.realtime.hearing.waits().longest_ms, 600);
}

TEST(ServeConfig, OneAddressLeavesSomeConnectionsToOthers) {
  const auto of_one = [](const std::vector<std::string>& limits) {
    return read_serve_config("", limits).limits.of_one_address();
  };
  EXPECT_EQ(of_one({}), 48);
  EXPECT_EQ(of_one({"limits.connections=1"}), 1);
  EXPECT_EQ(of_one({"limits.connections=400"}), 300);
  EXPECT_EQ(of_one({"limits.connections_per_address=64"}), 64);
}

TEST(ServeConfig, WrongValuesAreNamed) {
  const auto refused = [](const std::string& override, const std::vector<std::string>& parts) {
    expect_user_error([&] { read_serve_config("", {override}); }, parts);
  };
  refused("port=70000", {"port"});
  refused("max_sessions=0", {"max_sessions"});
  refused("decoder=magic", {"decoder", "jacobi"});
  refused("limits.idle_second=1", {"idle_seconds"});
  refused("limits.connections_per_address=-1", {"connections_per_address"});
  refused("limits.header_seconds=0", {"header_seconds"});
  refused("realtime.verifier=hope", {"verifier", "greedy"});
  refused("realtime.preset=big", {"preset", "eager"});
  refused("limits.queue_bytes=1", {"queue_bytes"});
  refused("realtime.recogniser=wss://there", {"realtime.recogniser", "wss://there", "proxy"});
  refused("realtime.recogniser=127.0.0.1:6006", {"realtime.recogniser", "ws://HOST:PORT"});
  refused("realtime.shortest_wait=1.3", {"realtime.shortest_wait", "1.3", "longest_wait, 1.2"});
  refused("realtime.longest_wait=11", {"realtime.longest_wait"});
  refused("wyoming.port=-2", {"wyoming", "port"});
  refused("pool_positions=-1", {"pool_positions"});
  refused("realtime.turn_draft_tokens=-1", {"realtime", "turn_draft_tokens"});
  refused("wyoming.max_conversations=0", {"max_conversations"});
  refused("api_keys_sha256=[secret]", {"api_keys_sha256", "sha256sum"});
}

TEST(ServeConfig, AllowedHostsAndOriginsAreWhatTheySay) {
  const auto refused = [](const std::string& override, const std::string& part) {
    expect_user_error([&] { check_access(read_serve_config("", {override}), false); }, {part});
  };
  for (const char* host : {"http://pi", "pi:8080", "pi/", ""}) {
    refused(fmt::format("allowed_hosts=[\"{}\"]", host), "a name alone");
  }
  for (const char* origin :
       {"localhost:3000", "http://pi/page", "http://", "http://*.example", ""}) {
    refused(fmt::format("allowed_origins=[\"{}\"]", origin), "http://localhost:3000");
  }
  refused("allowed_origins=[\"*\"]", "without a key");
  refused("allowed_origins=[\"null\"]", "without a key");
  ServeConfig config = read_serve_config(
      "", {"allowed_hosts=[pi.example.org]", "allowed_origins=[\"https://pi.example.org/\"]"});
  check_access(config, false);
  config.allowed_origins = {"*"};
  config.api_keys_sha256 = {sha256_hex("key")};
  check_access(config, false);
}

TEST(ServeConfig, OtherMachinesNeedAKey) {
  const auto check = [](const std::string& host, bool insecure, std::vector<std::string> keys) {
    ServeConfig config;
    config.host = host;
    config.api_keys_sha256 = std::move(keys);
    check_access(config, insecure);
  };
  for (const char* host : {"127.0.0.1", "127.1.2.3", "::1", "localhost"}) check(host, false, {});
  for (const char* host : {"0.0.0.0", "192.168.1.7", "::"}) {
    check(host, false, {sha256_hex("key")});
    check(host, true, {});
    expect_user_error([&] { check(host, false, {}); }, {host, "--insecure-without-key"});
  }
}

TEST(ServeConfig, WyomingHasNoKeys) {
  ServeConfig config;
  config.api_keys_sha256 = {sha256_hex("key")};
  config.wyoming.host = "0.0.0.0";
  check_access(config, /*insecure_without_key=*/false);  // there is no such service
  config.wyoming.port = 10700;
  for (const bool insecure : {false, true}) {  // that is HTTP's
    expect_user_error([&] { check_access(config, insecure); },
                      {"wyoming.host 0.0.0.0", "wyoming.insecure_without_key=true"});
  }
  config.wyoming.insecure_without_key = true;
  check_access(config, /*insecure_without_key=*/false);
  config.host = "0.0.0.0";
  config.api_keys_sha256.clear();
  expect_user_error([&] { check_access(config, /*insecure_without_key=*/false); },
                    {"--insecure-without-key"});
  config = {};
  config.wyoming.port = 10700;
  config.wyoming.host = "localhost";
  check_access(config, /*insecure_without_key=*/false);
}

int64_t positions(const std::string& pool, const std::string& context, int64_t free = 0) {
  const KvLayout layout{.num_layers = 1, .num_kv_heads = 1, .head_dim = 1, .options = at::kByte};
  return pool_positions(read_serve_config("", {"pool_positions=" + pool, "max_context=" + context}),
                        1024, layout, free);
}

TEST(PoolSize, IsThatOfOneConversationAtLeast) {
  EXPECT_EQ(positions("1024", "8192"), 1024) << "the model has no more";
  EXPECT_EQ(positions("300", "300"), 300);
  EXPECT_EQ(positions("0", "300"), 300);
  expect_user_error([&] { positions("1023", "8192"); }, {"pool_positions 1023", "1024"});
  expect_user_error([&] { positions("299", "300"); }, {"pool_positions 299", "300"});
}

/// A position has two bytes, and the other half is for what is swapped out.
TEST(PoolSize, FollowsFreeMemory) { EXPECT_EQ(positions("0", "300", 40000), 10000); }

TEST(PoolSize, SomeMemoryIsFree) {
  const int64_t free = memory_left(at::kCPU);
  EXPECT_GT(free, 1 << 20);
  EXPECT_LT(free, int64_t{1} << 50);
}

}  // namespace
}  // namespace predgen::serve
