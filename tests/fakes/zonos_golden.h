#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "model/weights/safetensors.h"
#include "tests/fakes/golden_dac.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

/// What the official code gave for small random weights; skipped without PREDGEN_SHARED.
class ZonosGolden : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = zonos_golden_folder();
    if (folder_.empty()) {
      GTEST_SKIP() << "set PREDGEN_SHARED for the outputs of the official Zonos code";
    }
    cases_ = std::make_unique<SafetensorsFile>(folder_ / "cases.safetensors");
    model_ = load({.device = "cpu", .dtype = "fp32"});
  }

  std::unique_ptr<ZonosModel> load(const LoadOptions& options) const {
    return ZonosModel::load(folder_, options);
  }
  at::Tensor golden(const std::string& name) const { return cases_->tensor(name).clone(); }

  /// What the official code was given.
  ZonosConditioning conditioning() const {
    ZonosConditioning given;
    const at::Tensor ids = golden("phoneme_ids").to(at::kLong).flatten();
    given.phoneme_ids.assign(ids.const_data_ptr<int64_t>(),
                             ids.const_data_ptr<int64_t>() + ids.numel());
    given.speaker = golden("speaker");
    given.emotion = {0.3077f, 0.0256f, 0.0256f, 0.0256f, 0.0256f, 0.0256f, 0.2564f, 0.3077f};
    given.fmax = 22050.0f;
    given.pitch_std = 20.0f;
    given.speaking_rate = 15.0f;
    given.language_id = 24;
    return given;
  }

  std::filesystem::path folder_;
  std::unique_ptr<SafetensorsFile> cases_;
  std::unique_ptr<ZonosModel> model_;
};

}  // namespace predgen
