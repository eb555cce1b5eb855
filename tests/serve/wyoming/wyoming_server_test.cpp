#include "serve/wyoming/wyoming_server.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/fakes/environment_variable.h"
#include "tests/fakes/temporary_folder.h"
#include "tests/fakes/waiting.h"
#include "tests/serve/http/socket.h"
#include "tests/serve/realtime/talk.h"

namespace predgen::serve {
namespace {

/// At a free port, in a thread of its own.
struct Local {
  explicit Local(House& house, const HttpLimits& limits = {}, int64_t connections = 16)
      : server({.host = "127.0.0.1", .port = 0, .connections = connections}, limits, house.host,
               "1"),
        thread([this](const std::stop_token& stop) { server.run(stop); }) {}

  int port() const { return server.port(); }
  void stop() {
    thread.request_stop();
    thread.join();
  }

  WyomingServer server;
  std::jthread thread;
};

const std::string kDescribe = "{\"type\":\"describe\"}\n";
const std::string kInfo =
    "\"supports_home_control\":false}],\"intent\":[],\"wake\":[],\"mic\":[],\"snd\":[]}";

std::string transcript(const std::string& text) {
  return to_bytes({.type = "transcript", .data = {{"text", text}}});
}

TEST(WyomingServer, AnswersByTheWire) {
  House house;
  Local server(house);
  Socket client(server.port());
  client.send(kDescribe);
  EXPECT_TRUE(client.read_until(kInfo).starts_with("{\"type\":\"info\",\"data_length\":"));
  client.send(transcript("one"));
  const std::string answer = client.read_until("{\"type\":\"handled-stop\"}\n");
  EXPECT_NE(answer.find("{\"text\":\"You said: one. Go on!\",\"context\":{\"conversation_id\":"),
            std::string::npos)
      << answer;
}

TEST(WyomingServer, WhatIsNoEventIsToldAndTheConnectionEnds) {
  HttpLimits limits;
  limits.header_bytes = 256;
  limits.message_bytes = 256;
  House house;
  Local server(house, limits);
  for (const std::string& bytes :
       {std::string("GET / HTTP/1.1\r\n"), std::string(1000, 'x'),
        std::string("{\"type\":\"x\",\"payload_length\":257}\n"),
        std::string("{\"type\":\"transcript\"}\n"), std::string("{\"type\":\"transcribe\"}\n")}) {
    Socket client(server.port());
    client.send(bytes);
    EXPECT_TRUE(client.send(bytes));
    const std::string answer = client.read_all();
    EXPECT_TRUE(answer.starts_with("{\"type\":\"error\"")) << bytes << answer;
    EXPECT_NE(answer.find("\"code\":\"invalid_event\""), std::string::npos) << answer;
  }
}

TEST(WyomingServer, ConnectionsAndTheirTimeHaveLimits) {
  HttpLimits limits;
  limits.silence_seconds = 0.2;
  House house;
  Local server(house, limits, /*connections=*/1);
  Socket first(server.port());
  first.send(kDescribe);
  EXPECT_FALSE(first.read_until(kInfo).empty());
  Socket second(server.port());
  EXPECT_NE(second.read_all().find("overloaded"), std::string::npos);
  EXPECT_NE(first.read_all().find("session_expired"), std::string::npos);
}

TEST(WyomingServer, ASessionEndsEvenIfItsClientKeepsTalking) {
  HttpLimits limits;
  limits.session_seconds = 0.2;
  House house;
  Local server(house, limits);
  Socket client(server.port());
  EXPECT_TRUE(comes_true([&] { return !client.send("{\"type\":\"ping\"}\n"); }));
}

TEST(WyomingServer, LooksWhetherASilentClientIsStillThere) {
  House house;
  Local server(house);
  Socket client(server.port());
  client.send(kDescribe);
  EXPECT_FALSE(client.read_until(kInfo).empty());
  // Of the server's side: local port, state 01 (connected), timer 02 (keep-alive).
  const std::string port = fmt::format(" 0100007F:{:04X} ", server.port());
  std::ifstream sockets("/proc/net/tcp");
  bool looks = false;
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream fields(line);
    std::string number, local, remote, state, queues, timer;
    fields >> number >> local >> remote >> state >> queues >> timer;
    looks |= " " + local + " " == port && state == "01" && timer.starts_with("02:");
  }
  EXPECT_TRUE(looks);
}

TEST(WyomingServer, SoundWaitsForAClientThatDoesNotRead) {
  House house(/*has_voice=*/true);
  HttpLimits limits;
  limits.queue_bytes = 64 << 10;
  limits.message_bytes = 4 << 20;
  Local server(house, limits);
  Socket client(server.port(), /*window=*/4096);
  std::string text;  // whose sound is a multiple of what may be queued
  for (int i = 0; i < 15000; ++i) text += "Yes. ";
  client.send(to_bytes({.type = "synthesize", .data = {{"text", text}}}));
  const std::string sound = client.read_until("{\"type\":\"audio-stop\"");
  EXPECT_TRUE(sound.ends_with("audio-stop\""));
  EXPECT_GT(sound.size(), size_t{3} << 20);
}

TEST(WyomingServer, AStopEndsIdleConnectionsAtOnceAndAnswersAfterTheirEnd) {
  House house;
  Local server(house);
  Socket idle(server.port()), asking(server.port());
  asking.send(transcript("one"));
  EXPECT_FALSE(asking.read_until("handled-chunk").empty());
  const auto begin = std::chrono::steady_clock::now();
  std::jthread stopping([&] { server.stop(); });
  EXPECT_EQ(idle.read_all(), "");
  idle.close();
  EXPECT_TRUE(asking.read_all().ends_with("{\"type\":\"handled-stop\"}\n"));
  asking.close();
  stopping.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

namespace fs = std::filesystem;

std::string text_of_file(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Announcement, IsMadeByAvahisProgramAndEndsWithUs) {
  const TemporaryFolder folder;
  const fs::path program = folder.path() / "avahi-publish-service", told = folder.path() / "told";
  std::ofstream(program) << "#!/bin/sh\nprintf '%s|' $$ \"$@\" >" << told << ".new\nmv " << told
                         << ".new " << told << "\nexec sleep 600\n";
  fs::permissions(program, fs::perms::owner_all);
  const EnvironmentVariable path("PATH", (folder.path().string() + ":/usr/bin:/bin").c_str());
  pid_t publisher = 0;
  {
    const Announcement announcement("predgen on pi", 10700);
    EXPECT_TRUE(announcement.is_made());
    ASSERT_TRUE(comes_true([&] { return fs::exists(told); }));
    const std::string text = text_of_file(told);
    publisher = std::stoi(text);
    EXPECT_EQ(text.substr(text.find('|')), "|--no-fail|predgen on pi|_wyoming._tcp|10700|");
    EXPECT_EQ(kill(publisher, 0), 0);
  }
  EXPECT_TRUE(comes_true([&] {
    const std::string state = text_of_file("/proc/" + std::to_string(publisher) + "/stat");
    return state.empty() || state.find(") Z ") != std::string::npos;
  }));
}

TEST(Announcement, IsNotMadeWithoutAvahisProgram) {
  const EnvironmentVariable path("PATH", "/nowhere");
  EXPECT_FALSE(Announcement("predgen", 10700).is_made());
}

}  // namespace
}  // namespace predgen::serve
