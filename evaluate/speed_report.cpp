#include "evaluate/speed_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

#include "evaluate/statistics.h"

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

namespace {

using Values = std::vector<std::optional<double>>;

Json figure(const Values& values) {
  std::vector<double> sorted;
  Json list = Json::array();
  for (const auto& value : values) {
    if (value) sorted.push_back(*value);
    list.push_back(value ? Json(*value) : Json());
  }
  std::ranges::sort(sorted);
  const bool is_empty = sorted.empty();
  return {{"median", is_empty ? Json() : Json(quantile(sorted, 0.5))},
          {"min", is_empty ? Json() : Json(sorted.front())},
          {"max", is_empty ? Json() : Json(sorted.back())},
          {"values", std::move(list)}};
}

Json figure(const std::vector<double>& values) {
  return figure(Values(values.begin(), values.end()));
}

/// amount / value of every run.
Json rate(double amount, const std::vector<double>& seconds) {
  std::vector<double> rates;
  for (const double value : seconds) rates.push_back(amount / value);
  return figure(rates);
}

Json decode_report(const SpeedReportInput& input) {
  const std::vector<double>& seconds = input.speed.decode;
  // The first step reads the prompt's positions, its last one included; each later step one more.
  const double positions =
      static_cast<double>(input.config.prompt) + static_cast<double>(input.config.generate - 1) / 2;
  const double bytes = input.bytes.per_token(positions);
  return {{"context", input.config.prompt},
          {"tokens", input.config.generate},
          {"seconds_per_token", figure(seconds)},
          {"tokens_per_second", rate(1, seconds)},
          {"bytes_per_token",
           {{"total", bytes},
            {"weights", input.bytes.weights},
            {"experts_not_chosen", input.bytes.idle},
            {"adapter", input.bytes.adapter},
            {"keys_and_values", bytes - input.bytes.per_token(0)}}},
          {"bytes_per_second", rate(bytes, seconds)},
          {"share_of_bandwidth", rate(bytes / input.bandwidth.bytes_per_second, seconds)},
          {"page_faults_per_token", figure(input.speed.page_faults)},
          {"allocated_bytes_per_token", figure(input.speed.allocated_bytes)}};
}

Json answer_report(const AnswerSpeed& answer) {
  return {{"block", answer.block},
          {"seconds_per_pass", figure(answer.seconds_per_pass)},
          {"passes_per_token", figure(answer.passes_per_token)},
          {"tokens_per_second", figure(answer.tokens_per_second)},
          {"speedup", figure(answer.speedup)}};
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

std::string cell(const Json& value, double scale) {
  if (!value.is_number()) return "-";
  const double number = value.get<double>() * scale;
  return number >= 1000 ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

std::string line(const std::string& title, const Json& figure, double scale,
                 const std::string& unit) {
  return fmt::format("{:<26} {:>10} {:>10} {:>10}  {}\n", title, cell(figure.at("median"), scale),
                     cell(figure.at("min"), scale), cell(figure.at("max"), scale), unit);
}

double gibibytes(const Json& bytes) { return bytes.get<double>() / (1 << 30); }

std::string decode_lines(const Json& decode, const Json& bandwidth) {
  const double bytes = decode["bytes_per_token"]["total"].get<double>();
  const double idle = decode["bytes_per_token"]["experts_not_chosen"].get<double>();
  const Json& cache = bandwidth["cache_bytes"];
  const bool fits = cache.is_number() && bytes <= cache.get<double>();
  return line(fmt::format("decode after {}", decode["context"].get<int64_t>()),
              decode["tokens_per_second"], 1, "tokens/s") +
         line("", decode["seconds_per_token"], 1e3, "ms/token") +
         line("", decode["bytes_per_second"], 1e-9,
              fmt::format(
                  "GB/s: {:.4g} MB read per token{}", bytes * 1e-6,
                  idle > 0 ? fmt::format(", {:.4g} MB of experts are not", idle * 1e-6) : "")) +
         line("", decode["share_of_bandwidth"], 100,
              fmt::format("% of memory bandwidth{}",
                          fits ? "; the processor's cache can hold what is read" : "")) +
         line("", decode["page_faults_per_token"], 1, "page faults a token") +
         line("", decode["allocated_bytes_per_token"], 1e-3, "kB allocated a token");
}

std::string answer_lines(const Json& answer) {
  const int64_t block = answer["block"].get<int64_t>();
  if (block == 1)
    return line("answers, a token a pass", answer["tokens_per_second"], 1, "tokens/s");
  return line(fmt::format("Jacobi, blocks of {}", block), answer["seconds_per_pass"], 1e3,
              "ms/pass") +
         line("", answer["passes_per_token"], 1, "passes/token") +
         line("", answer["tokens_per_second"], 1, "tokens/s") +
         line("", answer["speedup"], 1, "x a token a pass, same text");
}

}  // namespace

Json make_speed_report(const SpeedReportInput& input) {
  Json report = input.environment;
  report["runs"] = input.config.runs;
  report["prefill"] = {
      {"tokens", input.config.prompt},
      {"seconds", figure(input.speed.prefill)},
      {"tokens_per_second", rate(static_cast<double>(input.config.prompt), input.speed.prefill)}};
  report["decode"] = decode_report(input);
  report["step"] = {{"context", input.config.prompt}, {"seconds", figure(input.speed.step)}};
  report["verify"] = Json::array();
  for (const VerifySpeed& verify : input.speed.verify) {
    report["verify"].push_back({{"draft", verify.draft},
                                {"context", input.config.prompt},
                                {"seconds", figure(verify.seconds)},
                                {"steps", figure(verify.in_steps)}});
  }
  report["answers"] = Json::array();
  for (const AnswerSpeed& answer : input.speed.answers) {
    report["answers"].push_back(answer_report(answer));
  }
  report["memory_bandwidth"] = {{"bytes_per_second", input.bandwidth.bytes_per_second},
                                {"method", "best sum over a float32 buffer"},
                                {"buffer_bytes", input.bandwidth.buffer_bytes},
                                {"cache_bytes", or_null(input.bandwidth.cache_bytes)}};
  report["peak_memory"] = {{"process", input.peak.process}, {"device", or_null(input.peak.device)}};
  return report;
}

std::string format_speed(const Json& report) {
  const Json& bandwidth = report.at("memory_bandwidth");
  std::string text = fmt::format("{:<26} {:>10} {:>10} {:>10}\n", "", "median", "min", "max");
  text += line(fmt::format("prefill of {}", report.at("prefill").at("tokens").get<int64_t>()),
               report.at("prefill").at("tokens_per_second"), 1, "tokens/s");
  text += decode_lines(report.at("decode"), bandwidth);
  text += line(fmt::format("one step after {}", report.at("step").at("context").get<int64_t>()),
               report.at("step").at("seconds"), 1e3, "ms");
  for (const Json& verify : report.at("verify")) {
    text += line(fmt::format("verify a draft of {}", verify.at("draft").get<int64_t>()),
                 verify.at("seconds"), 1e3, "ms");
    text += line("", verify.at("steps"), 1, "steps' time");
  }
  for (const Json& answer : report.at("answers")) text += answer_lines(answer);
  text += fmt::format("memory bandwidth {:.3g} GB/s: the best sum over {:.3g} GiB of float32\n",
                      bandwidth.at("bytes_per_second").get<double>() * 1e-9,
                      gibibytes(bandwidth.at("buffer_bytes")));
  const Json& peak = report.at("peak_memory");
  text += fmt::format("peak memory {:.3g} GiB of the process", gibibytes(peak.at("process")));
  if (!peak.at("device").is_null()) {
    text += fmt::format(", {:.3g} GiB of the device", gibibytes(peak.at("device")));
  }
  return text + "\n";
}

}  // namespace predgen::evaluate
