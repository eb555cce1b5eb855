#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <random>
#include <semaphore>
#include <thread>

#include "core/error.h"
#include "hear/asr/ears.h"
#include "tests/fakes/spoken_sound.h"

namespace predgen::ears {
namespace {

using Type = EarsFrame::Type;

struct FakeDecoder : Decoder {
  DecoderPace pace() const override { return {}; }
  std::optional<Decoded> decode(const DecodeJob& job, const std::stop_token& stop) override {
    if (is_stuck) {
      const std::stop_callback wake(stop, [this] { go_on.release(); });
      begun.release();
      go_on.acquire();
    }
    if (stop.stop_requested()) return std::nullopt;
    return Decoded{.text = words_in(job.sound)};
  }
  void forget(uint32_t stream) override { forgotten.push_back(stream); }
  std::atomic<bool> is_stuck = false;
  std::counting_semaphore<> begun{0}, go_on{0};  // of a decode that is stuck
  std::vector<uint32_t> forgotten;
};

/// A service of a thread, and its client's end. What the decoding thread uses is never destroyed:
/// that thread has no end.
struct Program {
  Program() {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0);
    decoder = new FakeDecoder;
    service = new Service(sockets[1], sockets[1], *decoder, [] { return hear_loudness; }, {});
    std::thread([of = service] { of->decode(); }).detach();
    reader = std::thread([this] {
      try {
        service->run();
      } catch (const UserError& error) {
        failure = error.what();
      }
    });
  }
  ~Program() {
    ::shutdown(sockets[0], SHUT_WR);
    if (reader.joinable()) reader.join();
  }
  void send(const std::string& bytes) {
    EXPECT_EQ(::send(sockets[0], bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
  }
  void send(const EarsFrame& frame) { send(to_bytes(frame)); }
  EarsFrame next() {
    while (true) {
      if (auto frame = frames.next()) return *frame;
      pollfd wanted{.fd = sockets[0], .events = POLLIN, .revents = 0};
      if (::poll(&wanted, 1, 20'000) != 1) return {.type = Type::kFailure};
      char bytes[4096];
      const ssize_t count = ::read(sockets[0], bytes, sizeof bytes);
      if (count <= 0) return {.type = Type::kFailure};
      frames.add({bytes, static_cast<size_t>(count)});
    }
  }
  std::string fail() {
    ::shutdown(sockets[0], SHUT_WR);
    reader.join();
    return failure;
  }

  int sockets[2] = {-1, -1};
  FakeDecoder* decoder;
  Service* service;
  std::string failure;
  EarsFrameReader frames;
  std::thread reader;
};

EarsFrame sent_sound(uint32_t stream, int first, int last, int64_t silence) {
  std::vector<float> sound;
  say(sound, first, last);
  pause(sound, silence);
  return {.type = Type::kSound, .stream = stream, .payload = samples_to_bytes(sound)};
}

TEST(Service, AStreamsLastFrameIsItsEnd) {
  Program program;
  program.send(sent_sound(1, 1, 3, 4));
  program.send({.type = Type::kEnd, .stream = 1});
  RecognisedSegment last;
  for (EarsFrame frame = program.next(); frame.type == Type::kHeard; frame = program.next()) {
    last = segment_from_json(frame.payload);
  }
  EXPECT_EQ(last.text, "1 2 3.");
  EXPECT_TRUE(last.is_over);
}

TEST(Service, APingIsAnsweredByWhoeverDecodes) {
  Program program;
  program.send({.type = Type::kPing, .payload = "one"});
  EarsFrame pong = program.next();
  EXPECT_EQ(pong.type, Type::kPong);
  EXPECT_EQ(pong.payload, "one");
  program.decoder->is_stuck = true;
  program.send(sent_sound(1, 1, 4, 0));
  EXPECT_EQ(program.next().type, Type::kHeard);  // the voice, without words
  program.decoder->begun.acquire();
  program.send({.type = Type::kPing, .payload = "two"});
  pollfd wanted{.fd = program.sockets[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&wanted, 1, 50), 0);
  program.decoder->is_stuck = false;
  program.decoder->go_on.release();
  while (pong.payload != "two") {
    pong = program.next();
    ASSERT_NE(pong.type, Type::kFailure);
  }
}

TEST(Service, ADecodeIsStoppedForTheOneOfAPause) {
  Program program;
  program.decoder->is_stuck = true;
  program.send(sent_sound(1, 1, 4, 0));
  program.decoder->begun.acquire();
  program.decoder->is_stuck = false;
  program.send(sent_sound(1, 1, 0, 8));
  RecognisedSegment last;
  while (!last.voice || !last.voice->is_in_words) {
    const EarsFrame frame = program.next();
    ASSERT_EQ(frame.type, Type::kHeard);
    last = segment_from_json(frame.payload);
  }
  EXPECT_EQ(last.text, "1 2 3 4.");
}

TEST(Service, BytesThatAreNoFramesEndItWithOneLine) {
  const auto failure_of = [](const std::string& bytes) {
    Program program;
    program.send(bytes);
    return program.fail();
  };
  EXPECT_NE(failure_of("hello"), "");
  EXPECT_NE(failure_of(std::string(9, '\0')), "");
  EXPECT_NE(failure_of(std::string("S\1\0\0\0\xff\xff\xff\xff", 9)), "");
  EXPECT_NE(failure_of(to_bytes({.type = Type::kHeard, .stream = 1})), "");
  EXPECT_EQ(failure_of(std::string("S\1\0\0\0\xff\xff", 7)), "");  // cut: the client is gone
  EXPECT_EQ(failure_of(""), "");
}

TEST(Service, RandomBytesBreakNothing) {
  std::mt19937 random(5);
  const std::string good = to_bytes(sent_sound(1, 1, 2, 20)) +
                           to_bytes({.type = Type::kSound, .stream = 1}) +
                           to_bytes({.type = Type::kEnd, .stream = 1});
  for (int round = 0; round < 60; ++round) {
    std::string bytes = good;
    const int num_changes = static_cast<int>(random() % 4);
    for (int i = 0; i < num_changes; ++i) {
      // Most in the header, or in what follows the sound.
      const size_t place = random() % 2 == 0 ? random() % 9 : bytes.size() - 1 - random() % 18;
      bytes[place] = static_cast<char>(random());
    }
    bytes.resize(bytes.size() - random() % 3 * (random() % 20));
    Program program;
    program.send(bytes);
    const std::string failure = program.fail();
    EXPECT_LE(failure.size(), 200u);
    EXPECT_EQ(failure.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace predgen::ears
