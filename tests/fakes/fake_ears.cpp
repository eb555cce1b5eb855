// Stands in for predgen-ears: does what a script says. Its --recogniser names the script: lines of
//
//   ready              the models are loaded
//   await TYPE         reads until a frame of this type has come; its stream is the one of what
//   follows heard JSON         what was heard of that stream text WORDS         the same, in short:
//   of segment 0, after 100 samples of voice done               of that stream fail MESSAGE says
//   why it ends, and does bytes TEXT         sends this, which is no frame mute answers no ping
//   from now on hang               neither reads nor ends exit CODE
//   ---                from here on it is for the next start
//
// At the end of a script it reads on. The file SCRIPT.starts counts the starts.
#include <unistd.h>

#include <array>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "hear/ears_frames.h"

namespace {

using namespace predgen;
using Type = EarsFrame::Type;

void write_all(const std::string& bytes) {
  for (size_t written = 0; written < bytes.size();) {
    const ssize_t count = ::write(STDOUT_FILENO, bytes.data() + written, bytes.size() - written);
    if (count <= 0) _exit(1);
    written += static_cast<size_t>(count);
  }
}

struct Fake {
  /// Reads until such a frame has come, or to the end.
  void await(char type) {
    while (true) {
      while (const auto frame = reader.next()) {
        if (frame->type == Type::kPing && !is_mute) {
          write_all(to_bytes({.type = Type::kPong, .payload = frame->payload}));
        }
        if (static_cast<char>(frame->type) != type) continue;
        if (frame->stream != 0) stream = frame->stream;
        return;
      }
      std::array<char, 65536> bytes{};
      const ssize_t count = ::read(STDIN_FILENO, bytes.data(), bytes.size());
      if (count <= 0) _exit(0);
      reader.add({bytes.data(), static_cast<size_t>(count)});
    }
  }

  void act(const std::string& line) {
    const std::string word = line.substr(0, line.find(' '));
    const std::string rest = line.size() > word.size() ? line.substr(word.size() + 1) : "";
    if (word == "ready") write_all(to_bytes({.type = Type::kReady}));
    if (word == "await") await(rest[0]);
    if (word == "heard")
      write_all(to_bytes({.type = Type::kHeard, .stream = stream, .payload = rest}));
    if (word == "text") {
      write_all(
          to_bytes({.type = Type::kHeard,
                    .stream = stream,
                    .payload = segment_to_json(
                        {.text = rest, .voice = HeardVoice{.is_active = true, .until = 100}})}));
    }
    if (word == "done") write_all(to_bytes({.type = Type::kDone, .stream = stream}));
    if (word == "fail") {
      write_all(to_bytes({.type = Type::kFailure, .payload = rest}));
      _exit(2);
    }
    if (word == "bytes") write_all(rest);
    if (word == "mute") is_mute = true;
    if (word == "hang") ::pause();
    if (word == "exit") _exit(std::stoi(rest));
  }

  EarsFrameReader reader;
  uint32_t stream = 0;
  bool is_mute = false;
};

int count_start(const std::string& script) {
  const std::string file = script + ".starts";
  int count = 0;
  std::ifstream(file) >> count;
  std::ofstream(file) << count + 1;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  std::string script;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string(argv[i]) == "--recogniser") script = argv[i + 1];
  }
  const int wanted = count_start(script);
  std::ifstream in(script);
  Fake fake;
  int section = 0;
  for (std::string line; std::getline(in, line);) {
    if (line == "---") {
      ++section;
    } else if (section == wanted) {
      fake.act(line);
    }
  }
  fake.await('\0');
}
