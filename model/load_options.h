#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/setting.h"
#include "model/memory_estimate.h"
#include "model/quantized_weight.h"

namespace predgen {

class Transformer;

struct LoadOptions {
  std::string device = "auto";  // "auto": CUDA if there is one; "cpu", "cuda", "cuda:1"
  std::string dtype = "auto";   // "auto": bfloat16 on CUDA, cpu_dtype() on a CPU; "fp32", "bf16"
  /// Unless kNone, dtype "auto" is bfloat16 everywhere. Even with kNone, a quantised checkpoint
  /// runs as stored on a CPU unless `dtype` is given.
  Quantization quantization = Quantization::kNone;
  int64_t state_memory = kStateMemory;  // see Transformer::set_state_memory()
  /// The weights of the layers' linears stay views of the file, as stored, for who takes them out.
  bool leaves_linears = false;
  bool has_mtp = false;  // loads Transformer::mtp(); UserError if the checkpoint has none
  /// Has the loaded model guess for this one, if it is made for that (Transformer::guess_for()).
  Transformer* guesses_for = nullptr;
  bool prepares_passes = true;  // see Transformer::prepare_passes()
  /// Bytes that the weights may take; 0: what the device has left.
  int64_t most_bytes = 0;
  /// Told on the loading thread, tensor by tensor, which share of the weights is in place: 0 to 1.
  using Progress = std::function<void(double share)>;
  Progress on_progress{};
};

/// "fp32" or "bf16" to the tensor type; UserError otherwise.
at::ScalarType parse_dtype(const std::string& name);
/// LoadOptions::device to a device; UserError for other words, or a GPU that is not there.
at::Device parse_device(const std::string& name);
/// `on_cpu`: what "auto" means on a CPU.
at::ScalarType choose_dtype(const LoadOptions& options, at::Device device,
                            at::ScalarType on_cpu = at::kFloat);
/// Weights stored in bfloat16 stay so in a large model, as every decoding step reads all of them. A
/// small model is fast in float32, too.
at::ScalarType cpu_dtype(at::ScalarType stored, int64_t num_parameters);
/// `has_codes`: whether the checkpoint stores matrices in few bits; UserError if kStored is
/// requested without them, or elsewhere than on a CPU. `where`: the checkpoint.
Quantization choose_quantization(const LoadOptions& options, at::Device device, bool has_codes,
                                 const std::string& where);

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
