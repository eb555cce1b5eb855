#include "voice/espeak/espeak_helper.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"

namespace predgen {
namespace {

std::filesystem::path helper_beside_this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "predgen-espeak";
}

}  // namespace

EspeakHelper::EspeakHelper(const std::filesystem::path& program, Seconds timeout,
                           const std::string& user)
    : program_(program.empty() ? helper_beside_this_program() : program), timeout_(timeout) {
  if (!std::filesystem::exists(program_)) {
    throw UserError(
        "{} needs the program {}, which is missing: build with -DPREDGEN_ESPEAK=ON or use "
        "--tts none",
        user, program_.string());
  }
}

bool EspeakHelper::is_there() {
  std::error_code absent;
  return std::filesystem::exists(helper_beside_this_program(), absent);
}

void EspeakHelper::start() {
  if (process_) return;
  process_ = std::make_unique<HelperProcess>(program_);
  answering_ = false;
  const auto frame = read_frame();
  uint32_t rate = 0;
  const bool ready = frame && frame->type == 'R' && frame->payload.size() == sizeof rate;
  if (!ready) stop();
  if (!frame) {
    throw UserError("{} ended at once; run it by hand to see why, or use --tts none",
                    program_.string());
  }
  if (frame->type == 'E') throw UserError("espeak voice: {}", frame->payload);
  if (!ready) throw UserError("{} is not predgen's espeak helper", program_.string());
  std::memcpy(&rate, frame->payload.data(), sizeof rate);
  sample_rate_ = static_cast<int>(rate);
}

bool EspeakHelper::request(const Json& request) {
  drop_answer();
  start();
  const std::string line = to_text(request) + '\n';
  try {
    answering_ = process_->send(line, timeout_);
  } catch (...) {
    stop();
    throw;
  }
  if (!answering_) stop();
  return answering_;
}

void EspeakHelper::drop_answer() {
  while (process_ && answering_) {
    try {
      const auto frame = read_frame();
      if (!frame) return stop();
      answering_ = frame->type == 'A' || frame->type == 'P' || frame->type == 'N';
    } catch (const Error&) {
      return;  // stopped; its requester is gone, so the failure affects no other
    }
  }
}

std::optional<EspeakFrame> EspeakHelper::receive() {
  PREDGEN_CHECK(process_ && answering_, "nothing was asked of the espeak helper");
  auto frame = read_frame();
  if (!frame) {
    stop();
    return std::nullopt;
  }
  switch (frame->type) {
    case 'A':
      return EspeakFrame{EspeakFrame::Type::kAudio, std::move(frame->payload)};
    case 'P':
      return EspeakFrame{EspeakFrame::Type::kPhonemes, std::move(frame->payload)};
    case 'N':
      return EspeakFrame{EspeakFrame::Type::kNames, std::move(frame->payload)};
    case 'D':
      answering_ = false;
      return EspeakFrame{};
    case 'V':
      answering_ = false;
      throw UnknownEspeakVoice("{}; choose one that `espeak-ng --voices` lists", frame->payload);
    default:
      stop();
      throw Error("espeak helper: {}", frame->payload);
  }
}

std::optional<EspeakHelper::Frame> EspeakHelper::read_frame() {
  constexpr uint32_t kMaxPayload = 1 << 24;
  try {
    char header[5];
    if (!process_->receive(header, timeout_)) return std::nullopt;
    uint32_t length = 0;
    std::memcpy(&length, header + 1, sizeof length);
    if (length > kMaxPayload) throw Error("the espeak helper sent a frame of {} bytes", length);
    Frame frame{.type = header[0], .payload = std::string(length, '\0')};
    if (!process_->receive(frame.payload, timeout_)) return std::nullopt;
    return frame;
  } catch (...) {
    stop();
    throw;
  }
}

EspeakPhonemes::EspeakPhonemes(const std::filesystem::path& program, Seconds timeout,
                               const std::string& user)
    : helper_(program, timeout, user) {
  helper_.start();
}

std::vector<std::string> EspeakPhonemes::pronounce(const std::vector<std::string>& words,
                                                   const std::string& language) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (attempt > 0) spdlog::warn("the espeak helper ended; starting it again");
    if (!helper_.request({{"words", words}, {"language", language}})) continue;
    std::string answer;
    for (auto frame = helper_.receive(); frame; frame = helper_.receive()) {
      if (frame->type == EspeakFrame::Type::kPhonemes) answer = std::move(frame->payload);
      if (frame->type != EspeakFrame::Type::kDone) continue;
      auto pronounced =
          parse_json(answer, "the espeak helper's answer").get<std::vector<std::string>>();
      if (pronounced.size() != words.size()) {
        throw Error("the espeak helper pronounced {} of {} words", pronounced.size(), words.size());
      }
      return pronounced;
    }
  }
  throw Error("the espeak helper ends on a sentence of {} parts", words.size());
}

}  // namespace predgen
