#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/converse/session_options.h"

namespace predgen::evaluate {

/// One way of answering, compared with the others on the same turns.
struct Method {
  std::string name;
  InputTimeWork work = InputTimeWork::kCascade;
  VerifierConfig verifier{};
  std::string decoder = "ar";                // as make_generator names them
  Preset preset{};                           // what speculation may use
  bool adapter = false;                      // runs on base weights plus the adapter
  bool mtp = false;                          // the adapter applies to mask tokens alone
  bool draft_model = false;                  // also drafts with the draft model
  bool past_answers = false;                 // drafts from earlier answers
  std::optional<SplitMode> split{};          // nullopt: the configuration's
  double characters_per_minute = 0;          // of typed turns; 0: the configuration's
  bool sound_ahead = true;                   // its drafts are synthesised ahead
  std::optional<double> end_of_turn_wait{};  // seconds; nullopt: the configuration's
  bool early = false;                        // calls of its drafts may run while the user speaks
  bool grammar = false;                      // its calls are held to their form
};

/// A name of known_methods() in method.cpp, alone or with parts that modify it:
///   verifier   +top<k>, +reflection
///   sources    +ngram, +past_answers, +draft_model; of drafts, in speculation and in the answer
///   trees      +tree, +branches; more that a verification may keep
///   generator  +jacobi;   weights  +adapter, +mtp
///   all these  +<preset>, for a method that has none of sources and trees
///   sound      +sound; prepared ahead, for a method that does not
///   tools      +early, +grammar; of sets with tools
/// input +split=paper, +split=natural, +rate=<characters a minute>, +wait=<seconds> UserError for
/// an unknown name, a part that the method already has (there is one verifier), and a part that
/// needs drafts if the method makes none while the user speaks.
Method parse_method(const std::string& name);

/// The plain-decoding method with the same weights, grammar and end of the turn, whose text a
/// lossless method reproduces.
std::string plain_method(const Method& method);

/// The baseline for a method's times and passes: with the same sentences, grammar and end of the
/// turn, "baseline+split=natural+wait=0.5".
std::string baseline_method(const Method& method);

}  // namespace predgen::evaluate
