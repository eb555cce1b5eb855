#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tensors/safetensors.h"
#include "voice/zonos/zonos_model.h"

namespace predgen {

/// What the official code gave for small random weights (README.md there).
inline const std::filesystem::path kVoiceGolden = "tests/voice/golden";

class ZonosGolden : public testing::Test {
 protected:
  void SetUp() override {
    cases_ = std::make_unique<SafetensorsFile>(kVoiceGolden / "cases.safetensors");
    model_ = load({.device = "cpu", .dtype = "fp32"});
  }

  std::unique_ptr<ZonosModel> load(const LoadOptions& options) const {
    return ZonosModel::load(kVoiceGolden, options);
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

  std::unique_ptr<SafetensorsFile> cases_;
  std::unique_ptr<ZonosModel> model_;
};

}  // namespace predgen
