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
  std::string decoder = "ar";                // as make_generator names them
  Preset preset{};                           // what speculation may use
  bool adapter = false;                      // runs on base weights plus the adapter
  bool mtp = false;                          // which counts for mask tokens alone
  bool draft_model = false;                  // has the draft model draft, too
  bool past_answers = false;                 // drafts from answers that were given before
  std::optional<SplitMode> split{};          // nothing: the configuration's
  double characters_per_minute = 0;          // of typed turns; 0: the configuration's
  bool sound_ahead = true;                   // its drafts are made ready as sound
  std::optional<double> end_of_turn_wait{};  // seconds; nothing: the configuration's
};

/// A name of known_methods() in method.cpp, alone or with parts that change that much of it:
///   verifier   +top<k>, +reflection
///   sources    +ngram, +past_answers, +draft_model; of drafts, in speculation and in the answer
///   trees      +tree, +branches, +next_words; more that a verification may keep
///   generator  +jacobi;   weights  +adapter, +mtp
///   all these  +<preset>, for a method that has none of sources and trees
///   sound      +sound; prepared ahead, for a method that does not
///   input      +split=paper, +split=natural, +rate=<characters a minute>, +wait=<seconds>
/// UserError for a name that is unknown, a part that the method has already (there is one
/// verifier), and one that needs drafts of a method that makes none while the user speaks.
Method parse_method(const std::string& name);

/// The method with the same weights, plain decoding and end of the turn, whose text a lossless
/// method repeats.
std::string plain_method(const Method& method);

/// What a method's times and passes are compared with: the baseline with the same sentences and
/// the same end of the turn, "baseline+split=natural+wait=0.5".
std::string baseline_method(const Method& method);

}  // namespace predgen::evaluate
