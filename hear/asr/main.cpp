// predgen-ears: sound in, words out. README.md has the protocol.
#include <fcntl.h>
#include <sherpa-onnx/c-api/c-api.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "core/error.h"
#include "core/text.h"
#include "hear/asr/ears.h"
#include "hear/asr/failure_report.h"
#include "hear/asr/model_files.h"
#include "hear/asr/moonshine_decoder.h"
#include "hear/asr/paired_decoder.h"
#include "hear/asr/streaming_decoder.h"
#include "hear/asr/voice_networks.h"
#include "hear/asr/whisper_decoder.h"

namespace {

using namespace predgen;
using namespace predgen::ears;

constexpr std::string_view kUsage =
    "usage: predgen-ears --recogniser FOLDER --voice-activity FILE [--end-of-turn FILE]\n"
    "                    [--fast-recogniser FOLDER] [--language en] [--threads 1]\n"
    "Sound on standard input, words on standard output, in frames; predgen starts it.\n";

struct Options {
  std::string recogniser, fast_recogniser, voice_activity, end_of_turn, language = "en",
                                                                        threads = "1";
};

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string_view, std::string*> places{
      {"--recogniser", &options.recogniser},
      {"--fast-recogniser", &options.fast_recogniser},
      {"--voice-activity", &options.voice_activity},
      {"--end-of-turn", &options.end_of_turn},
      {"--language", &options.language},
      {"--threads", &options.threads}};
  for (int i = 1; i < argc; i += 2) {
    const auto place = places.find(argv[i]);
    if (place == places.end()) throw UserError("predgen-ears has no option '{}'", argv[i]);
    if (i + 1 == argc) throw UserError("{} needs a value", argv[i]);
    *place->second = argv[i + 1];
  }
  for (const char* const needed : {"--recogniser", "--voice-activity"}) {
    if (places.at(needed)->empty()) throw UserError("predgen-ears needs {}", needed);
  }
  return options;
}

int threads_of(const std::string& text) {
  int count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_count =
      error == std::errc() && end == text.data() + text.size() && count >= 1 && count <= 64;
  if (!is_count) throw UserError("--threads must be in [1,64], but is '{}'", text);
  return count;
}

/// Moonshine's models hear English.
std::unique_ptr<MoonshineDecoder> load_moonshine(const Options& options, const ModelFiles& files) {
  if (options.language != "en") {
    throw UserError("{} hears English only, not '{}'", files.encoder.parent_path().string(),
                    shortened(options.language));
  }
  return std::make_unique<MoonshineDecoder>(files, threads_of(options.threads));
}

std::unique_ptr<Decoder> load_decoder(const Options& options) {
  const ModelFiles files = find_model(options.recogniser, options.language);
  if (!options.fast_recogniser.empty() && files.kind != ModelFiles::Kind::kWhisper) {
    throw UserError("--fast-recogniser is for a --recogniser of Whisper; {} is none",
                    options.recogniser);
  }
  switch (files.kind) {
    case ModelFiles::Kind::kMoonshine:
      return load_moonshine(options, files);
    case ModelFiles::Kind::kTransducer:
      return std::make_unique<StreamingDecoder>(files, threads_of(options.threads));
    case ModelFiles::Kind::kWhisper:
      break;
  }
  check_language(files, options.language);
  auto whisper =
      std::make_unique<WhisperDecoder>(files, options.language, threads_of(options.threads));
  if (options.fast_recogniser.empty()) return whisper;
  const ModelFiles fast = find_model(options.fast_recogniser, options.language);
  if (fast.kind != ModelFiles::Kind::kMoonshine) {
    throw UserError("--fast-recogniser must be a folder of Moonshine's, but {} is none",
                    options.fast_recogniser);
  }
  return std::make_unique<PairedDecoder>(load_moonshine(options, fast), std::move(whisper));
}

/// The first decode is the slowest: it is not left to the user.
void try_out(Decoder& decoder, const std::string& recogniser) {
  try {
    decoder.decode({.need = Need::kFinal, .sound = std::vector<float>(kRate)}, {});
  } catch (const Error& error) {
    throw UserError("{} cannot be used: {}", recogniser, error.what());
  }
  decoder.forget(0);
}

int run(const Options& options, int out, FailureReport& failures) {
  failures.set_part("the recogniser in " + options.recogniser);
  const std::unique_ptr<Decoder> decoder = load_decoder(options);
  try_out(*decoder, options.recogniser);
  failures.set_part("the voice activity model " + options.voice_activity);
  Silero silero(onnx_file_at(options.voice_activity));
  std::unique_ptr<SmartTurn> smart_turn;
  JudgeEnd judge_end;
  if (!options.end_of_turn.empty()) {
    failures.set_part("the end-of-turn model " + options.end_of_turn);
    smart_turn = std::make_unique<SmartTurn>(onnx_file_at(options.end_of_turn));
    judge_end = [&](const std::vector<float>& sound) { return smart_turn->probability(sound); };
  }
  failures.set_part("decoding");
  Service service(STDIN_FILENO, out, *decoder, silero.hearers(), judge_end);
  Service::write_frame(out, {.type = EarsFrame::Type::kReady});
  std::jthread([&] {
    try {
      service.decode();
    } catch (const std::exception& error) {
      failures.fail(error.what(), 1);
    }
  }).detach();
  service.run();
  ::_exit(0);  // without waiting for a decode
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--help" || first == "-h") {
    std::cout << kUsage;
    return 0;
  }
  if (first == "--version") {
    std::cout << "sherpa-onnx " << SherpaOnnxGetVersionStr() << "\n";
    return 0;
  }
  // Libraries may print to standard output, where only frames may go.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  FailureReport failures(out);
  try {
    return run(parse(argc, argv), out, failures);
  } catch (const UserError& error) {
    failures.fail(error.what(), 2);
  } catch (const std::exception& error) {
    failures.fail(error.what(), 1);
  }
}
