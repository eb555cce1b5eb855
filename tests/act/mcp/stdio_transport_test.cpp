#include "act/mcp/stdio_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"
#include "tests/fakes/waiting.h"

namespace predgen::act {
namespace {

using testing::ElementsAre;

struct KeptLines : MessageHandler {
  std::optional<int64_t> on_text(std::string_view text) override {
    const Lock lock(mutex);
    lines.emplace_back(text);
    return std::nullopt;
  }
  void on_too_large() override { on_text("too large"); }
  void on_end(const std::string& why) override { on_text("end: " + why); }
  std::vector<std::string> all() const {
    const Lock lock(mutex);
    return lines;
  }
  bool have(size_t count) const {
    return comes_true([&] { return all().size() >= count; });
  }
  mutable Mutex mutex;
  std::vector<std::string> lines GUARDED_BY(mutex);
};

Deadline soon() { return std::chrono::steady_clock::now() + std::chrono::seconds(20); }

ServerEntry shell(const std::string& script) {
  return {.name = "x", .command = "sh", .arguments = {"-c", script}};
}

TEST(StdioTransport, CarriesLinesBothWays) {
  KeptLines lines;
  ServerEntry entry =
      shell("read -r line; echo \"$line\"; echo; echo \"$A $(pwd)\"; exec sleep 60");
  entry.environment = {"A=b"};
  entry.folder = "/";
  StdioTransport transport(entry, lines);
  transport.send({{"a", 1}}, soon(), {});
  ASSERT_TRUE(lines.have(2));
  EXPECT_THAT(lines.all(), ElementsAre(R"({"a":1})", "b /"));
}

TEST(StdioTransport, SaysWhyTheProgramEnded) {
  KeptLines lines;
  StdioTransport transport(shell("echo one >&2; printf 'no module \\033 x\\n\\n' >&2; exit 1"),
                           lines);
  transport.send({}, soon(), {});
  ASSERT_TRUE(lines.have(1));
  EXPECT_THAT(lines.all(), ElementsAre("end: has ended: no module ? x"));
}

TEST(StdioTransport, DropsALineThatIsTooLong) {
  KeptLines lines;
  StdioTransport transport(shell("head -c 5000000 /dev/zero; echo; echo fine"), lines);
  transport.send({}, soon(), {});
  ASSERT_TRUE(lines.have(3));
  EXPECT_THAT(lines.all(), ElementsAre("too large", "fine", "end: has ended"));
}

TEST(StdioTransport, WhatCannotBeStartedIsTheUsersMistake) {
  KeptLines lines;
  expect_user_error([&] { StdioTransport({.command = "no-such-program"}, lines); },
                    {"no-such-program"});
}

}  // namespace
}  // namespace predgen::act
