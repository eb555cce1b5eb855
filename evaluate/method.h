#pragma once

#include <string>
#include <vector>

#include "runtime/converse/turn.h"
#include "runtime/speculate/make_verifier.h"

namespace predgen {

/// One way of answering, compared with the others on the same turns.
struct Method {
  std::string name;
  InputTimeWork work = InputTimeWork::kCascade;
  VerifierConfig verifier{};
  std::string decoder = "ar";  // as make_generator names them
  bool adapter = false;        // runs on base weights plus the CLLM adapter
  std::string help{};
};

/// baseline, prefill, greedy, top<k>, cllm, and the decoders alone: cllm_ar, cllm_jacobi,
/// base_jacobi. UserError for another name.
Method parse_method(const std::string& name);

/// Every name that parse_method() knows, top3 standing for top<k>.
std::vector<Method> known_methods();

/// The method with the same weights and plain decoding, whose text a lossless method repeats.
std::string plain_method(const Method& method);

}  // namespace predgen
