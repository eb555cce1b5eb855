#include "act/mcp/http_transport.h"

#include <gtest/gtest.h>

#include "act/mcp/transport.h"

namespace predgen::act {
namespace {

TEST(SseReader, GivesEventsHoweverTheBytesAreCut) {
  const std::string stream =
      ": a comment\r\nevent: message\r\ndata: {\"a\":\r\ndata: 1}\r\nid: 7\r\n\r\n"
      "retry: 2500\n\ndata:x\n\nid: no data\n\ndata\n\ndata: y\r\rdata: cut";
  for (size_t size = 1; size <= stream.size(); ++size) {
    SseReader reader;
    std::vector<SseEvent> events;
    for (size_t at = 0; at < stream.size(); at += size) {
      for (SseEvent& event : reader.push(std::string_view(stream).substr(at, size))) {
        events.push_back(std::move(event));
      }
    }
    EXPECT_EQ(events, (std::vector<SseEvent>{{"message", "{\"a\":\n1}"}, {"", "x"}, {"", "y"}}))
        << size;
    EXPECT_EQ(reader.last_id(), "7");
    EXPECT_EQ(reader.retry_s(), 2.5);
  }
}

TEST(SseReader, KeepsNoMoreThanAMessage) {
  SseReader reader;
  const std::string megabyte(1 << 20, 'x');
  EXPECT_THROW(
      {
        reader.push("data: ");
        for (int count = 0; count < 5; ++count) reader.push(megabyte);
      },
      ServerError);
  SseReader lines;
  EXPECT_THROW(
      {
        for (int count = 0; count < 5; ++count) lines.push("data: " + megabyte + "\n");
      },
      ServerError);
}

}  // namespace
}  // namespace predgen::act
