#pragma once

#include <cstdint>
#include <string>

#include "core/setting.h"

namespace predgen {

// Settings of whatever loads a model. Text: a string, or a path.

template <typename Text>
Setting adapter_setting(Text& adapter) {
  return {"adapter", adapter, "PEFT adapter folder"};
}

template <typename Text>
Setting chat_template_setting(Text& file) {
  return {"chat_template", file, "Jinja file to use instead of the model's template"};
}

inline Setting device_setting(std::string& device) {
  return {"device", device, "auto, cpu, cuda or cuda:N"};
}

inline Setting dtype_setting(std::string& dtype) { return {"dtype", dtype, "auto, fp32 or bf16"}; }

inline Setting quantize_setting(std::string& quantize) {
  return {"quantize", quantize,
          "linear layers in 8 or 4 bits: none, int8 or int4; stored: in the bits that the file "
          "has, as on a CPU without a dtype"};
}

/// In MiB.
inline Setting state_memory_setting(int64_t& mebibytes) {
  return {
      "state_memory", mebibytes, between(1, 1 << 20),
      "MiB for a conversation's snapshots, by which drafts can be taken back, in models of which "
      "some layers keep a state instead of keys and values"};
}

inline Setting threads_setting(int64_t& threads) {
  return {"threads", threads, between(0, 4096), "CPU threads; 0: all cores"};
}

}  // namespace predgen
