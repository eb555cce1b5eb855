#pragma once

#include <string>
#include <vector>

#include "runtime/converse/preset.h"

namespace predgen {

/// One way of answering, compared with the others on the same turns.
struct Method {
  std::string name;
  InputTimeWork work = InputTimeWork::kCascade;
  VerifierConfig verifier{};
  std::string decoder = "ar";  // as make_generator names them
  Preset preset{};             // what speculation may use
  bool adapter = false;        // runs on base weights plus the CLLM adapter
  bool judge = false;          // asks base weights plus the judge adapter
  bool draft_model = false;    // has the draft model draft, too
  std::string help{};
};

/// baseline, prefill; speculation: greedy and with more to verify tree, ngram, branches,
/// next_words, economy, best, draft_model; top<k>, reflection, reflection_judge; cllm, cllm_best;
/// the decoders alone: cllm_ar, cllm_jacobi, base_jacobi. Any of them may be followed by +jacobi,
/// +adapter, +draft_model and +<preset>, which change that much of it. UserError for another name.
Method parse_method(const std::string& name);

/// Every name that parse_method() knows, top3 standing for top<k>.
std::vector<Method> known_methods();

/// The method with the same weights and plain decoding, whose text a lossless method repeats.
std::string plain_method(const Method& method);

}  // namespace predgen
