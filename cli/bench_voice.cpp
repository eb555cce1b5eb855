#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "cli/bench_command.h"
#include "core/error.h"
#include "core/stop.h"
#include "evaluate/statistics.h"
#include "text/spoken/speech_text.h"
#include "voice/zonos/zonos_voice.h"

namespace predgen::cli {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct VoiceRun {
  double first_audio = 0, buffer_ready = 0, work = 0, audio = 0;  // s
  int64_t steps = 0;
};

VoiceRun speak(SpeechSynthesizer& voice, const AheadBuffer& ahead, const std::string& text,
               const std::stop_token& stop) {
  VoiceRun run;
  std::vector<float> samples;
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Synthesis> synthesis = voice.begin(speakable_text(text, voice.language()));
  for (bool more = true; more; ++run.steps) {
    throw_if_stopped(stop);
    more = synthesis->advance(samples);
    run.work = seconds_since(start);
    if (run.first_audio == 0 && !samples.empty()) run.first_audio = run.work;
    const bool is_ready =
        !more || ahead.is_full(run.steps + 1, samples.size(), voice.sample_rate());
    if (run.buffer_ready == 0 && is_ready) run.buffer_ready = run.work;
  }
  if (samples.empty()) throw UserError("--text '{}': the voice finds nothing to say in it", text);
  run.audio = static_cast<double>(samples.size()) / voice.sample_rate();
  return run;
}

}  // namespace

void VoiceBench::add_to(CLI::App& command) {
  voice.add_to(command);
  command.add_option("--text", text, "--tts: the sentence")->capture_default_str();
}

Json bench_voice(const VoiceBench& options, int64_t runs, bool print_table,
                 const std::stop_token& stop) {
  const VoiceOptions voice_options = options.voice.parse();
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<const Voice> voice = make_voice(voice_options);
  PREDGEN_CHECK(voice, "no voice to measure");
  const std::unique_ptr<SpeechSynthesizer> synthesizer = voice->synthesizer();
  const double load = seconds_since(start);
  const AheadBuffer ahead = voice->ahead_buffer();
  speak(*synthesizer, ahead, options.text, stop);  // warm-up
  std::map<std::string, std::vector<std::optional<double>>> values;
  for (int64_t i = 0; i < runs; ++i) {
    const VoiceRun run = speak(*synthesizer, ahead, options.text, stop);
    values["first_audio"].push_back(run.first_audio);
    values["buffer_ready"].push_back(run.buffer_ready);
    values["audio"].push_back(run.audio);
    values["real_time_factor"].push_back(run.work / run.audio);
    values["seconds_per_step"].push_back(run.work / static_cast<double>(run.steps));
  }
  Json report{{"tts", options.voice.tts}, {"runs", runs}, {"load", load}};
  for (const auto& [name, list] : values) {
    const evaluate::Summary summary = evaluate::summarize(list);
    report[name] = {{"mean", *summary.mean}, {"p50", *summary.p50}, {"p90", *summary.p90}};
  }
  if (const auto* zonos = dynamic_cast<const ZonosVoice*>(voice.get())) {
    const ZonosSpeed speed = zonos->measure(stop);
    report["seconds_per_column"] = speed.seconds_per_step;
    report["codec_real_time_factor"] = speed.codec_real_time_factor;
  }
  if (!print_table) return report;
  const auto line = [&](const char* title, const char* name, double scale, const char* unit) {
    const Json& summary = report.at(name);
    std::printf("%-18s %9.3g %9.3g %9.3g  %s\n", title, summary.at("mean").get<double>() * scale,
                summary.at("p50").get<double>() * scale, summary.at("p90").get<double>() * scale,
                unit);
  };
  std::printf("%s, loaded in %.2f s; %d sentences after one to warm up\n",
              options.voice.tts.c_str(), load, static_cast<int>(runs));
  std::printf("%-18s %9s %9s %9s\n", "", "mean", "P50", "P90");
  line("first audio", "first_audio", 1e3, "ms");
  line("buffer ready", "buffer_ready", 1e3, "ms");
  line("step", "seconds_per_step", 1e3, "ms");
  line("audio", "audio", 1, "s");
  line("real-time factor", "real_time_factor", 1, "");
  if (report.contains("seconds_per_column")) {
    std::printf("%-18s %9.3g ms without the codec, whose real-time factor is %.3g\n", "step",
                report["seconds_per_column"].get<double>() * 1e3,
                report["codec_real_time_factor"].get<double>());
  }
  return report;
}

}  // namespace predgen::cli
