#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "serve/openai/openai_api.h"
#include "tests/fakes/fake_host.h"

namespace predgen {

/// All of OpenAI's API but the port, on a fake model that is called "m".
struct FakeApi : FakeHost {
  using Next = std::function<TokenId(TokenSpan history)>;

  explicit FakeApi(const std::vector<std::string>& words, const serve::ServeConfig& wanted = {},
                   Next next = {})
      : FakeHost(words, {.max_positions = 256, .next = std::move(next)}),
        config(wanted),
        completer(engine, engine_lock, tokenizer, defaults, config, metrics, clock),
        realtime(host, config.realtime.max_sessions),
        api(completer, engine_lock, metrics, realtime, "m", serve::Access(config)) {
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }

  serve::ServeConfig config;
  GenerationDefaults defaults;
  serve::Completer completer;
  serve::RealtimeApi realtime;
  serve::OpenAiApi api;
};

}  // namespace predgen
