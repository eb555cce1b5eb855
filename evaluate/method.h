#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/converse/preset.h"

namespace predgen::evaluate {

/// One way of answering, compared with the others on the same turns.
struct Method {
  std::string name;
  InputTimeWork work = InputTimeWork::kCascade;
  VerifierConfig verifier{};
  std::string decoder = "ar";        // as make_generator names them
  Preset preset{};                   // what speculation may use
  bool adapter = false;              // runs on base weights plus the CLLM adapter
  bool draft_model = false;          // has the draft model draft, too
  std::optional<SplitMode> split{};  // nothing: the configuration's
  double characters_per_minute = 0;  // of typed turns; 0: the configuration's
  std::string help{};
};

/// A name of known_methods() in method.cpp, alone or with parts that change that much of it:
///   verifier   +top<k>, +reflection
///   sources    +ngram, +draft_model; of drafts, in speculation and in the answer
///   trees      +tree, +branches, +next_words; more that a verification may keep
///   generator  +jacobi;   weights  +adapter
///   all these  +<preset>, for a method that has none of sources and trees
///   input      +split=paper, +split=natural, +rate=<characters a minute>
/// UserError for a name that is unknown, a part that the method has already (there is one
/// verifier), and one that needs drafts of a method that makes none while the user speaks.
Method parse_method(const std::string& name);

/// The method with the same weights and plain decoding, whose text a lossless method repeats.
std::string plain_method(const Method& method);

/// What a method's times and passes are compared with: the baseline with the same sentences.
std::string baseline_method(const Method& method);

}  // namespace predgen::evaluate
