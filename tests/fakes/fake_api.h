#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/serve/openai_api.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {

/// All of OpenAI's API but the port, on a fake model that is called "m".
struct FakeApi {
  using Next = std::function<TokenId(TokenSpan history)>;

  explicit FakeApi(const std::vector<std::string>& words, const ServeConfig& wanted = {},
                   Next next = {})
      : config(wanted),
        tokenizer(words),
        model(
            {.vocab_size = tokenizer.vocab_size(), .max_positions = 256, .next = std::move(next)}),
        engine(borrowing_engine(model, {.baton = &baton})),
        completer(engine, baton, tokenizer, defaults, config, metrics, clock),
        realtime(host, config.realtime.max_sessions),
        api(completer, engine, baton, metrics, realtime, "m", ApiKeys(config.api_keys_sha256)) {
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }

  ServeConfig config;
  FakeTokenizer tokenizer;
  FakeLanguageModel model;
  Baton baton;
  Engine engine;
  GenerationDefaults defaults;
  ServeMetrics metrics;
  ManualClock clock;
  Completer completer;
  RealtimeHost host{.engine = engine,
                    .baton = baton,
                    .tokenizer = tokenizer,
                    .clock = clock,
                    .metrics = metrics,
                    .offer = {.model = "m", .voice = ""}};
  RealtimeApi realtime;
  OpenAiApi api;
};

}  // namespace predgen
