#include "serve/wyoming/wyoming_event.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/fakes/expect_user_error.h"

namespace predgen::serve {
namespace {

constexpr WyomingParser::Limits kLimits{.header_bytes = 120, .body_bytes = 1000};

std::vector<WyomingEvent> parse(const std::vector<std::string>& pieces) {
  WyomingParser parser(kLimits);
  std::vector<WyomingEvent> events;
  for (const std::string& piece : pieces) {
    parser.add(piece);
    while (auto event = parser.next()) events.push_back(*std::move(event));
  }
  return events;
}

// As the stock client writes them: data behind the line, in the line, and none.
const std::string kData = R"({"rate": 16000, "text": "ä"})";
const std::string kSound("\0\n{}", 4);
const std::string kEvents =
    fmt::format(R"({{"type": "audio-chunk", "version": "1.10.2", "data_length": {}, )"
                R"("payload_length": {}, "data": {{"rate": 1, "width": 2}}}})",
                kData.size(), kSound.size()) +
    "\n" + kData + kSound + "{\"type\": \"ping\", \"data\": {\"text\": \"x\"}}\r\n" +
    "{\"type\": \"describe\", \"data_length\": null, \"payload_length\": 0}\n";

void expect_events(const std::vector<WyomingEvent>& events) {
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].type, "audio-chunk");
  EXPECT_EQ(events[0].data, (Json{{"rate", 16000}, {"width", 2}, {"text", "ä"}}));
  EXPECT_EQ(events[0].payload, kSound);
  EXPECT_EQ(events[1].data, (Json{{"text", "x"}}));
  EXPECT_EQ(events[2].type, "describe");
  EXPECT_TRUE(events[2].data.empty() && events[2].payload.empty());
}

TEST(WyomingParser, ReadsEventsHoweverTheyAreCut) {
  expect_events(parse({kEvents}));
  for (size_t i = 0; i <= kEvents.size(); ++i) {
    expect_events(parse({kEvents.substr(0, i), kEvents.substr(i)}));
  }
  std::vector<std::string> bytes;
  for (const char byte : kEvents) bytes.emplace_back(1, byte);
  expect_events(parse(bytes));
}

TEST(WyomingParser, ReadsWhatIsWritten) {
  const WyomingEvent event{.type = "handled", .data = {{"text", "a\nb \xff"}}, .payload = kSound};
  const auto events = parse({to_bytes(event) + to_bytes({.type = "handled-stop"})});
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].data["text"], "a\nb \uFFFD");
  EXPECT_EQ(events[0].payload, kSound);
  EXPECT_EQ(to_bytes({.type = "handled-stop"}), "{\"type\":\"handled-stop\"}\n");
}

TEST(WyomingParser, RefusesWhatIsNoEvent) {
  const auto refused = [](const std::string& bytes, const std::vector<std::string>& parts) {
    expect_user_error([&] { parse({bytes}); }, parts);
  };
  refused("GET / HTTP/1.1\r\n", {"line"});
  refused("\n", {"line"});
  refused("[]\n", {"line", "object"});
  refused("{}\n", {"type", "missing"});
  refused("{\"type\": 3}\n", {"type"});
  refused("{\"type\": \"x\", \"data\": []}\n", {"data", "object"});
  refused("\xff\xfe\n", {"line"});
  refused(R"({"type": ")" + std::string(50, '[') + "\n", {"line"});
  for (const char* length : {"-1", "1001", "1e300", "99999999999999999999999", "\"5\"", "true",
                             "18446744073709551615", "1.5"}) {
    for (const char* key : {"data_length", "payload_length"}) {
      refused(fmt::format("{{\"type\": \"x\", \"{}\": {}}}\n", key, length), {key, "1000"});
    }
  }
  refused("{\"type\": \"x\", \"data_length\": 2}\n[]", {"data", "object"});
  refused("{\"type\": \"x\", \"data_length\": 3}\n{\"a", {"data"});
  refused("{\"type\": \"x\", \"data_length\": 4}\n" + std::string(4, '\0'), {"data"});
}

TEST(WyomingParser, ALineHasALimit) {
  expect_user_error([] { parse({std::string(121, 'x')}); }, {"line", "120"});
  expect_user_error([] { parse({"{\"type\": \"" + std::string(120, 'x') + "\"}\n"}); }, {"120"});
  EXPECT_TRUE(parse({std::string(120, ' ')}).empty());
  EXPECT_EQ(
      parse({"{\"type\": \"x\", \"payload_length\": 1000}\n" + std::string(1000, 'x')}).size(), 1u);
}

}  // namespace
}  // namespace predgen::serve
