#pragma once

#include <string>
#include <utility>
#include <vector>

#include "serve/realtime/realtime_host.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/manual_clock.h"

namespace predgen {

/// What servers share, on a fake model that is called "m".
struct FakeHost {
  /// `options`: the vocabulary is that of the words.
  FakeHost(const std::vector<std::string>& words, FakeLanguageModel::Options options)
      : tokenizer(words),
        model(with_vocabulary(std::move(options), tokenizer.vocab_size())),
        engine(borrowing_engine(model, {.engine_lock = &engine_lock})) {}

  FakeTokenizer tokenizer;
  FakeLanguageModel model;
  EngineLock engine_lock;
  Engine engine;
  ManualClock clock;
  serve::ServeMetrics metrics;
  serve::RealtimeHost host{.engine = engine,
                           .engine_lock = engine_lock,
                           .tokenizer = tokenizer,
                           .clock = clock,
                           .metrics = metrics,
                           .offer = {.model = "m"}};

 private:
  static FakeLanguageModel::Options with_vocabulary(FakeLanguageModel::Options options,
                                                    int64_t size) {
    options.vocab_size = size;
    return options;
  }
};

}  // namespace predgen
