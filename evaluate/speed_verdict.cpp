#include "evaluate/speed_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace predgen::evaluate {
namespace {

// 150 words a minute, in tokens of English.
constexpr double kSpokenTokensPerSecond = 3.5;

std::string voice_line(const Json& report) {
  const double rate = report.at("decode").at("tokens_per_second").at("median").get<double>();
  return fmt::format("  voice     {:.3g} tokens/s; speech needs about {}: {}\n", rate,
                     kSpokenTokensPerSecond,
                     rate > kSpokenTokensPerSecond ? "fast enough" : "TOO SLOW for a conversation");
}

std::string draft_line(const Json& verify) {
  const auto draft = verify.at("draft").get<int64_t>();
  const double steps = verify.at("steps").at("median").get<double>();
  // The pass gives a token of its own after the right ones.
  const int64_t enough = std::max<int64_t>(static_cast<int64_t>(std::floor(steps)), 1);
  const std::string pays = enough > draft
                               ? "never saves time"
                               : fmt::format("saves time if {} or more of them are right", enough);
  return fmt::format("  drafting  checking {} tokens takes as long as making {:.2g}: it {}\n",
                     draft, steps, pays);
}

std::string jacobi_line(const Json& answer) {
  const double speedup = answer.at("speedup").at("median").get<double>();
  return fmt::format("  Jacobi    blocks of {} answer {:.2g} times as fast as a token a pass: {}\n",
                     answer.at("block").get<int64_t>(), speedup,
                     speedup > 1 ? "--decoder jacobi pays" : "leave it off");
}

}  // namespace

std::string speed_verdict(const Json& report) {
  std::string text = "What this means:\n" + voice_line(report);
  for (const Json& verify : report.at("verify")) text += draft_line(verify);
  for (const Json& answer : report.at("answers")) {
    if (answer.at("block") != 1 && answer.at("speedup").at("median").is_number()) {
      text += jacobi_line(answer);
    }
  }
  return text;
}

}  // namespace predgen::evaluate
