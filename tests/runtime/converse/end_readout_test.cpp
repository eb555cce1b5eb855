#include "runtime/converse/end_readout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "core/files.h"
#include "model/weights/weights_hash.h"
#include "tensors/safetensors.h"
#include "tests/fakes/expect_user_error.h"
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

}  // namespace
}  // namespace predgen
