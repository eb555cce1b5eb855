#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "hear/transcripts/scheduled_source.h"
#include "runtime/converse/session.h"
#include "runtime/converse/session_options.h"
#include "runtime/cost/engine_costs.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_speaker.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/pass_table.h"

namespace predgen {

constexpr double kPass = 0.027;  // seconds
inline const std::vector<std::string> kWords{"Yes", " I", " can", ".",    " Go",
                                             " on", "!",  "No",   " well"};

/// What was typed in the last user message, and the answer's tokens so far.
inline std::pair<std::string, size_t> read_history(const FakeTokenizer& tokenizer,
                                                   TokenSpan history) {
  size_t assistant = history.size(), user = 0;
  while (assistant > 0 && history[assistant - 1] != FakeTokenizer::kAssistant) --assistant;
  for (size_t i = 0; i < assistant; ++i) {
    if (history[i] == FakeTokenizer::kUser) user = i;
  }
  if (assistant == 0) return {"", 0};
  return {tokenizer.decode(history.subspan(user, assistant - user)), history.size() - assistant};
}

struct TalkSetup {
  InputTimeWork work = InputTimeWork::kSpeculate;
  SplitMode split_mode = SplitMode::kPaper;
  std::string decoder = "ar", verifier = "greedy", system_prompt = "";
  std::string preset = "";  // none: of a turn's drafts the last one is used, and nothing else
  std::optional<SamplingConfig> sampling{};
  std::function<std::string(const std::string& user)> answer = [](const std::string&) {
    return "Yes I can. Go on!";
  };
  std::function<TokenId(TokenSpan)> next{};  // instead of `answer`
  int64_t max_draft_tokens = 64, first_round_tokens = 0, later_round_tokens = 0;
  int64_t turn_draft_tokens = 0;
  bool sound_ahead = true, speaks_clauses = false, yields_to_words = false;
  std::function<bool(TokenSpan answer, const std::string& text)> is_stuck{};
  size_t trace_bytes = 1 << 20;
  int64_t context_length = 2048, pass_tokens = 512, top_k = 3, judged_sentences = 1;
  std::optional<SpeculationConfig> speculation{};  // instead of the preset's
  double speech_delay = 0.2;
  PassCosts costs{};  // as they are known to the session
  Engine* draft_model = nullptr;
};

/// A session with fakes on a virtual clock: 27 ms a pass, nothing else costs time.
struct Stage {
  explicit Stage(const TalkSetup& setup)
      : inner({.vocab_size = tokenizer.vocab_size(),
               .next = setup.next ? setup.next : script(setup)}),
        engine(borrowing_engine(inner, {.pass_tokens = setup.pass_tokens})),
        owned_speaker(std::make_unique<FakeSpeaker>(clock, Seconds(setup.speech_delay))),
        speaker(*owned_speaker),
        session(session_config(setup), engine, tokenizer, std::move(owned_speaker), clock) {
    engine.observe_passes(charge_passes(clock, PassCosts::given(Seconds(kPass))));
  }

  static SessionConfig session_config(const TalkSetup& setup) {
    SessionConfig config{
        .turn = {.work = setup.work,
                 .split_mode = setup.split_mode,
                 .max_draft_tokens = setup.max_draft_tokens,
                 .first_round_tokens = setup.first_round_tokens,
                 .later_round_tokens = setup.later_round_tokens,
                 .turn_draft_tokens = setup.turn_draft_tokens,
                 .max_new_tokens = 40,
                 .sound_ahead = setup.sound_ahead,
                 .speaks_clauses = setup.speaks_clauses,
                 .yields_to_words = setup.yields_to_words,
                 .is_stuck = setup.is_stuck,
                 .trace_bytes = setup.trace_bytes},
        .verifier = {.name = setup.verifier,
                     .top_k = setup.top_k,
                     .judged_sentences = setup.judged_sentences},
        .generator = {.name = setup.decoder, .block_size = 6, .costs = setup.costs},
        .sampling = setup.sampling,
        .system_prompt = setup.system_prompt,
        .max_context = setup.context_length};
    if (!setup.preset.empty()) find_preset(setup.preset).apply_to(config);
    if (setup.speculation) config.speculation = *setup.speculation;
    if (setup.draft_model) {
      config.generator.sources.push_back("model");
      config.generator.draft_model = setup.draft_model;
      config.generator.costs = with_draft_cost(0.01);
    }
    return config;
  }

  std::function<TokenId(TokenSpan)> script(const TalkSetup& setup) {
    return [this, answer = setup.answer](TokenSpan history) -> TokenId {
      const auto [user, place] = read_history(tokenizer, history);
      const TokenIds ids = tokenizer.encode(answer(user));
      return place < ids.size() ? ids[place] : FakeTokenizer::kEnd;
    };
  }

  TurnResult run(std::vector<Transcript> transcripts, const TurnObserver& observer = {}) {
    ScheduledSource source(std::move(transcripts));
    return session.run_turn(source, observer).value();
  }

  FakeTokenizer tokenizer{kWords};
  VirtualClock clock{VirtualClock::Computation::kCostTable};
  FakeLanguageModel inner;
  Engine engine;
  std::unique_ptr<FakeSpeaker> owned_speaker;
  FakeSpeaker& speaker;
  Session session;
};

inline Transcript partial(const std::string& text, double time) {
  return {.text = text, .time = Seconds(time)};
}
inline Transcript stable(const std::string& text, double time) {
  return {.text = text, .time = Seconds(time), .is_stable = true};
}
inline Transcript final_one(const std::string& text, double time) {
  return {.text = text, .time = Seconds(time), .is_final = true};
}

/// One in three of them, but for the final one, is stable for as long as the next one lets it be.
inline std::vector<Transcript> with_pauses(std::vector<Transcript> transcripts, uint64_t seed) {
  Random random(seed, "pauses");
  std::vector<Transcript> all;
  for (size_t i = 0; i < transcripts.size(); ++i) {
    all.push_back(transcripts[i]);
    const bool pauses = random.below(3) == 0;
    if (!pauses || transcripts[i].is_final) continue;
    all.push_back(transcripts[i]);
    all.back().time += Seconds(0.01);
    all.back().is_stable = true;
    if (all.back().time >= transcripts[i + 1].time) all.pop_back();
  }
  return all;
}

inline std::vector<Transcript> random_transcripts(uint64_t seed, double change_from,
                                                  uint64_t variant) {
  Random common(seed, "transcripts"), other(seed, "other", variant);
  std::vector<Transcript> transcripts;
  std::vector<std::string> words;
  double time = 0;
  for (uint64_t left = 3 + common.below(6); left > 0; --left) {
    const bool changed = time >= change_from;
    Random& random = changed ? other : common;
    time += 0.01 + 0.2 * random.uniform();
    if (time >= change_from && !changed) time = change_from;
    if (random.below(3) == 0 && !words.empty()) words.pop_back();
    Random& text_random = time >= change_from ? other : common;
    words.push_back(std::string(1, static_cast<char>('a' + text_random.below(4))));
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    transcripts.push_back({.text = text, .time = Seconds(time)});
  }
  transcripts.push_back(
      {.text = transcripts.back().text, .time = Seconds(time + 0.05), .is_final = true});
  return transcripts;
}

/// Three times in four the last two tokens decide, else the whole history: drafts survive partly.
inline TokenId hashed_word(TokenSpan history) {
  const auto hash_of = [](TokenSpan ids) {
    uint64_t hash = 1;
    for (const TokenId id : ids) {
      hash = (hash ^ static_cast<uint64_t>(id)) * 0x100000001b3ULL;
      hash ^= hash >> 29;
    }
    return hash;
  };
  const uint64_t whole = hash_of(history);
  const uint64_t hash = whole % 4 == 0 ? whole / 4 : hash_of(history.last(2));
  if (hash % 23 == 0) return FakeTokenizer::kEnd;
  return FakeTokenizer::kFirstWord + static_cast<TokenId>(hash % kWords.size());
}

}  // namespace predgen
