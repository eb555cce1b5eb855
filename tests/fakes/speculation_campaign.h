#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "core/random.h"
#include "runtime/generate/generator.h"
#include "runtime/speculate/input_time_speculator.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/token_language.h"

namespace predgen {

inline const TokenIds kHeader{28, 29, 30};  // ends every prompt, as a chat template does
inline const GenerationConfig kConfig{.max_new_tokens = 40, .stop_tokens = {3}};

inline TokenIds to_ids(TokenSpan tokens) { return TokenIds(tokens.begin(), tokens.end()); }

inline TokenIds plain_answer(const LanguageModel& model, const TokenIds& prompt,
                             GenerationConfig config, int64_t capacity = 512) {
  config.answer_begin = std::ssize(prompt);
  Engine engine = borrowing_engine(model);
  Sequence sequence = sequence_of(engine, prompt, capacity);
  AutoregressiveGenerator(engine).generate(sequence, {}, config, {});
  return to_ids(sequence.tokens().subspan(prompt.size()));
}

inline TokenIds with_header(TokenIds words) {
  words.insert(words.end(), kHeader.begin(), kHeader.end());
  return words;
}

/// What went wrong in a campaign of random partials, revisions, cancellations and prefills: 0 when
/// the final answer always equals plain decoding, within a language if there is one.
struct Campaign {
  int64_t runs = 0, wrong = 0, drafted = 0, accepted = 0, partly = 0, cancelled = 0, reused = 0;
  int64_t branched = 0, from_others = 0;
};

inline Campaign run_campaign(Engine& faulty, const LanguageModel& honest, Verifier& verifier,
                             Generator& generator, uint64_t num_runs,
                             const SpeculationConfig& speculation = {},
                             const std::shared_ptr<const TokenLanguage>& language = nullptr) {
  Campaign campaign;
  for (uint64_t seed = 0; seed < num_runs; ++seed) {
    Random random(seed, "campaign");
    InputTimeSpeculator speculator(faulty, verifier, generator, 256, speculation);
    GenerationConfig whole = kConfig;
    if (seed % 3 == 0) {
      whole.sampler = std::make_shared<Sampler>(SamplingConfig{.temperature = 0.02, .seed = seed});
    }
    if (language) whole.constraint = answers_in(language, whole.stop_tokens);
    TokenIds words;
    const auto speak = [&] {
      if (random.below(3) == 0 && words.size() > 2) words.resize(words.size() - 2);  // revised
      for (uint64_t i = random.below(4); i > 0; --i) {
        words.push_back(static_cast<TokenId>(random.below(28)));
      }
    };
    for (uint64_t updates = 1 + random.below(7); updates > 0; --updates) {
      speak();
      if (random.below(8) == 0) {
        speculator.prefill(with_header(words));
        continue;
      }
      GenerationConfig config = whole;
      config.max_new_tokens = 1 + static_cast<int64_t>(random.below(20));
      uint64_t passes_left = 1 + random.below(12);
      int64_t asked_left = 4 + static_cast<int64_t>(random.below(12));
      config.should_stop = [&] { return --asked_left < 0; };
      const SpeculationStep step = speculator.update(with_header(words), "", config,
                                                     [&](TokenSpan) { return --passes_left > 0; });
      campaign.cancelled += step.generation.stop_reason == StopReason::kCancelled;
      int64_t steps_left = static_cast<int64_t>(random.below(12));
      config.should_stop = [&] { return --steps_left < 0; };
      const auto follow = []() -> IsWhole {
        return [length = size_t{0}](TokenSpan more) mutable { return (length += more.size()) > 9; };
      };
      for (uint64_t slices = 1 + random.below(2); slices > 0; --slices) {
        campaign.branched += speculator.branch(config, follow);
        steps_left = static_cast<int64_t>(random.below(12));
      }
      if (random.below(10) == 0) speculator.reset_answer();
    }
    speak();
    const TokenIds prompt = with_header(words);
    TokenIds streamed;
    const int64_t passes_before = speculator.num_forward_passes();
    const SpeculationStep step = speculator.update(prompt, "", whole, [&](TokenSpan tokens) {
      streamed.insert(streamed.end(), tokens.begin(), tokens.end());
      return true;
    });
    EXPECT_EQ(speculator.num_forward_passes() - passes_before, step.num_forward_passes);
    const TokenIds answer = to_ids(speculator.answer());
    ++campaign.runs;
    const TokenIds expected = language ? answer_within(*language, honest, prompt, whole)
                                       : plain_answer(honest, prompt, whole);
    campaign.wrong += answer != expected || streamed != answer;
    campaign.drafted += step.num_drafted;
    campaign.accepted += step.num_accepted;
    campaign.from_others += step.num_accepted > step.num_agreed;
    campaign.partly += step.num_accepted > 0 && step.num_accepted < step.num_drafted;
    campaign.reused += step.num_reused;
  }
  return campaign;
}

inline TokenId next_of(TokenSpan history) {
  const size_t size = history.size();
  return (history[size - 1] * 7 + history[size - 2] * 3 + static_cast<TokenId>(size % 5)) % 28;
}

/// Says next_of(), and so do three masks unless the text so far has a number of tokens that
/// `wrong_every` divides.
inline FakeLanguageModel::Options with_masks(size_t wrong_every) {
  return {.next = next_of,
          .mask_tokens = {31, 32, 33},
          .guess = [wrong_every](TokenSpan history, int64_t number) {
            if (history.size() % wrong_every == 0) return TokenId{29};
            TokenIds tokens = to_ids(history);
            for (int64_t i = 0; i <= number; ++i) tokens.push_back(next_of(tokens));
            return tokens.back();
          }};
}

}  // namespace predgen
