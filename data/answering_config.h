#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "core/config.h"

namespace predgen::data {

/// What configurations share of data that a model answers prompts for.
struct AnsweringConfig {
  std::filesystem::path model, output;
  std::filesystem::path chat_template;  // instead of the model's
  std::string device = "auto", dtype = "auto";
  int64_t seed = 0;
  int64_t batch_tokens = 1024;  // of one forward pass; changes nothing but speed and memory
  int64_t threads = 0;

  void read_answering(ConfigReader& reader);
};

}  // namespace predgen::data
