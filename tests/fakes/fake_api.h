#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "serve/openai/openai_api.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/pass_table.h"

namespace predgen {

/// All of OpenAI's API but the port, on a fake model that is called "m".
struct FakeApi : FakeHost {
  using Next = std::function<TokenId(TokenSpan history)>;

  /// `has_drafts`: a draft model guesses each token of answers to requests, rightly.
  explicit FakeApi(const std::vector<std::string>& words, const serve::ServeConfig& wanted = {},
                   Next next = {}, bool has_drafts = false)
      : FakeHost(words, {.max_positions = 256, .next = std::move(next)}),
        config(wanted),
        drafts(borrowing_engine(model, {.engine_lock = &engine_lock})),
        completer(engine, engine_lock, tokenizer, defaults, config, metrics, clock,
                  decoder(has_drafts)),
        realtime(host, config.realtime.max_sessions),
        api(completer, engine_lock, metrics, realtime, "m", serve::Access(config)) {
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }

  serve::ServeConfig config;
  GenerationDefaults defaults;
  Engine drafts;
  serve::Completer completer;
  serve::RealtimeApi realtime;
  serve::OpenAiApi api;

 private:
  GeneratorConfig decoder(bool has_drafts) {
    if (!has_drafts) return {.name = config.decoder};
    return {.name = config.decoder,
            .sources = {"model"},
            .costs = with_draft_cost(0.01),
            .draft_model = &drafts};
  }
};

}  // namespace predgen
