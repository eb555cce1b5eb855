#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "voice/onnx/onnx_api.h"

namespace predgen::ears {

/// An input tensor of a model: integers if there are any, else floats. Borrows both.
struct OnnxInput {
  const char* name;
  std::vector<int64_t> shape;
  std::span<const float> floats{};
  std::span<const int64_t> integers{};
};

/// What a run throws that was stopped.
struct Stopped {};

/// A network in an ONNX file, run by the ONNX Runtime that sherpa-onnx brings. Used by one thread
/// at a time.
class OnnxModel {
 public:
  /// UserError if the file cannot be loaded.
  explicit OnnxModel(const std::filesystem::path& file, int num_threads = 1);
  ~OnnxModel();
  OnnxModel(const OnnxModel&) = delete;
  OnnxModel& operator=(const OnnxModel&) = delete;

  /// Returns the named outputs, all floats. Error if the model lacks one, or takes other inputs;
  /// Stopped soon after a stop was requested, from any thread.
  std::vector<std::vector<float>> run(const std::vector<OnnxInput>& inputs,
                                      const std::vector<const char*>& outputs,
                                      const std::stop_token& stop = {});

 private:
  const std::string file_;
  onnx::Env* environment_ = nullptr;
  onnx::Session* session_ = nullptr;
};

}  // namespace predgen::ears
