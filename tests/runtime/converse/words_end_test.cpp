#include "runtime/converse/words_end.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "core/files.h"
#include "model/weights/weight_files.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/temporary_folder.h"

namespace predgen {
namespace {

constexpr int64_t kVocabulary = 5;

std::map<std::string, at::Tensor> small_readout() {
  return {{"tokens", at::tensor({4, 1}, at::kLong)},
          {"first.weight", at::tensor({1.f, 0.f, 0.f, -2.f, .5f, .5f}).view({3, 2})},
          {"first.bias", at::tensor({0.f, 1.f, -1.f})},
          {"last.weight", at::tensor({1.f, -1.f, 2.f}).view({1, 3})},
          {"last.bias", at::tensor({.25f})}};
}

class EndReadoutTest : public testing::Test {
 protected:
  void write(const std::map<std::string, at::Tensor>& tensors,
             const std::string& vocabulary = std::to_string(kVocabulary),
             const std::string& model = "") {
    std::map<std::string, std::string> metadata{
        {"format", "predgen-end-readout"}, {"version", "1"}, {"vocab_size", vocabulary}};
    if (!model.empty()) metadata["model"] = model;
    write_safetensors(file_, tensors, metadata);
  }
  bool is_found(const std::filesystem::path& model, bool has_adapter = false) const {
    return find_end_readout(model, kVocabulary, has_adapter) != nullptr;
  }
  void expect_refused(const std::vector<std::string>& parts) {
    expect_user_error([&] { EndReadout(file_, kVocabulary); }, parts);
  }

  const TemporaryFolder folder_;
  const std::filesystem::path file_ = folder_ / "small.ends.safetensors";
};

TEST_F(EndReadoutTest, IsANetworkOfTwoLayers) {
  write(small_readout());
  const at::Tensor logits_V = at::tensor({9.f, 3.f, 9.f, 9.f, 1.f});
  const auto gelu = [](double x) { return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0))); };
  const double score = gelu(1) - gelu(1 - 6) + 2 * gelu(2 - 1) + .25;
  EXPECT_NEAR(EndReadout(file_, kVocabulary).probability(logits_V), 1 / (1 + std::exp(-score)),
              1e-6);
}

TEST_F(EndReadoutTest, IsOfOneModelWithoutAnAdapter) {
  const std::filesystem::path model = folder_ / "small.gguf";
  std::string weights(300'000, 'w');
  write_file(model, weights);
  EXPECT_FALSE(is_found(model)) << "there is none";
  write(small_readout());
  EXPECT_FALSE(is_found(model)) << "of an unknown model";
  write(small_readout(), std::to_string(kVocabulary), fingerprint({model}));
  EXPECT_TRUE(is_found(model));
  EXPECT_FALSE(is_found(model, /*has_adapter=*/true));
  for (size_t i = 1000; i < weights.size(); i += 5000) weights[i] = 'v';  // an adapter was merged
  write_file(model, weights);
  EXPECT_FALSE(is_found(model));
}

TEST_F(EndReadoutTest, LiesInItsModelsFolder) {
  EXPECT_FALSE(is_found(folder_.path()));
  const TemporaryFolder model;
  write_file(model / "config.json", "{}");
  write_file(model / "model.safetensors", "weights");
  const auto weights = weight_files(model.path());
  write(small_readout(), std::to_string(kVocabulary), fingerprint(weights));
  std::filesystem::copy_file(file_, model / "ends.safetensors");
  EXPECT_TRUE(is_found(model.path()));
  write_file(model / "model.safetensors", "others!");
  EXPECT_FALSE(is_found(model.path()));
}

TEST_F(EndReadoutTest, RefusesWhatDoesNotFit) {
  write(small_readout(), "49152");
  expect_refused({"small.ends.safetensors", "49152", "not 5"});
  for (const auto& [name, tensor] : small_readout()) {
    auto tensors = small_readout();
    tensors[name] = at::cat({tensor, tensor});
    write(tensors);
    expect_refused({"small.ends.safetensors", "does not fit"});
    tensors.erase(name);
    write(tensors);
    expect_refused({"small.ends.safetensors", name});
  }
  auto tensors = small_readout();
  tensors["tokens"] = at::tensor({4, 5}, at::kLong);
  write(tensors);
  expect_refused({"\"tokens\"", "vocabulary"});
  write_safetensors(file_, small_readout());
  expect_refused({"not a readout", "train_end_readout.py"});
  write_file(file_, "{}");
  expect_refused({"small.ends.safetensors"});
}

History::Prompt render(const FakeTokenizer& tokenizer, const std::string& text) {
  return History(tokenizer, "").prompt(text, {.context_length = 256, .answer_length = 16});
}

TEST(WordsEnd, IsWhereTheTemplateGoesOn) {
  const FakeTokenizer tokenizer;
  const auto at = [&](const std::string& said, const std::string& words) {
    return words_end(render(tokenizer, said), words,
                     [&](const std::string& text) { return render(tokenizer, text); });
  };
  EXPECT_EQ(at("hi", "hi"), 3);           // <user> h i | <end> <assistant>
  EXPECT_EQ(at("hi you?", "hi you"), 7);  // in front of the mark
}

TEST(WordsEnd, IsNotFoundWhereRoundsWereDropped) {
  const FakeTokenizer tokenizer;
  History::Prompt longer = render(tokenizer, "hi and");
  longer.dropped_rounds = 1;
  EXPECT_FALSE(
      words_end(render(tokenizer, "hi"), "hi", [&](const std::string&) { return longer; }));
}

TEST(EndByWords, TheLikeliestEndCounts) {
  const FakeTokenizer tokenizer;
  const EndByWords by_words(tokenizer);
  const auto with = [&](TokenId token, double probability) {
    const auto size = static_cast<double>(tokenizer.vocab_size());
    at::Tensor logits_V = at::full({tokenizer.vocab_size()}, std::log((1 - probability) / size));
    logits_V[token] = std::log(probability);
    return by_words.probability(logits_V);
  };
  for (const TokenId end : {TokenId{'.'}, TokenId{'?'}, TokenId{'!'}, FakeTokenizer::kEnd}) {
    EXPECT_GT(with(end, 0.5), 0.9) << end;
    EXPECT_LT(with(end, 0.01), 0.5) << end;
    EXPECT_GT(with(end, 0.3), with(end, 0.2)) << end;
  }
  EXPECT_LT(with('x', 0.99), 0.1);
}

TEST(EndByWords, MarksOfTheRecogniserAreLeftOut) {
  EXPECT_EQ(EndByWords::without_marks("...what time is it? "), "...what time is it");
  EXPECT_EQ(EndByWords::without_marks("well..."), "well");
  EXPECT_EQ(EndByWords::without_marks("?!"), "");
  EXPECT_EQ(EndByWords::without_marks("well\u2026"), "well");
  EXPECT_EQ(EndByWords::without_marks("\u4f60\u597d\u3002"), "\u4f60\u597d");
}

/// A model that expects the message to end after "bye", and nowhere else.
TalkSetup ends_after_bye() {
  return {.next = [](TokenSpan history) -> TokenId {
    if (history.back() == FakeTokenizer::kAssistant) return 'Y';
    return history.back() == 'e' || history.back() == 'Y' ? FakeTokenizer::kEnd : 'x';
  }};
}

TEST(EndByWords, IsToldWithThePassThatVerifies) {
  Stage stage(ends_after_bye());
  std::vector<std::pair<std::string, double>> told;
  TurnObserver observer;
  observer.on_end_by_words = [&](const std::string& words, double probability) {
    told.emplace_back(words, probability);
  };
  const std::vector<Transcript> said{partial("good", 1), partial("good bye.", 2),
                                     final_one("good bye.", 3)};
  const TurnResult result = stage.run(said, observer);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].first, "good");
  EXPECT_EQ(told[1].first, "good bye.");
  EXPECT_GT(told[1].second, 2 * told[0].second);  // that model is never sure
  Stage silent(ends_after_bye());
  const TurnResult without = silent.run(said);
  EXPECT_EQ(result.metrics.total_nfe, without.metrics.total_nfe);
  EXPECT_EQ(result.answer, without.answer);
}

}  // namespace
}  // namespace predgen
