// Bodies of requests, up to their answers, and the messages of speech services.
#include <optional>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "runtime/input/transcript_lines.h"
#include "runtime/input/transcripts/transcript_messages.h"
#include "tests/fakes/fake_api.h"
#include "tests/fuzz/lines.h"
#include "tests/fuzz/targets.h"

namespace predgen {
namespace {

const std::string kCall = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";

ServeConfig small_config() {
  ServeConfig config;
  config.max_new_tokens = 8;
  config.kept_conversations = 2;
  return config;
}

struct Reply : HttpReply {
  State state() const override { return State::kReady; }
  void send(const HttpAnswer& answer) override {
    require(status == 0, "two answers");
    status = answer.status;
    require(Json::accept(answer.body), "an answer that is no JSON");
  }
  void send_event(std::string_view data) override {
    status = 200;
    require(data == "[DONE]" || Json::accept(data), "an event that is no JSON");
    require(data.find("server_error") == std::string_view::npos, "the server failed");
  }
  void send_part(const std::string&, std::string_view) override { status = 200; }
  void open_web_socket(WebSocketHandler&, const std::string&) override {}
  int status = 0;
};

}  // namespace

void read_request(std::string_view input) {
  FakeApi api({" one", kCall}, small_config());
  Reply reply;
  const bool is_chat = input.find("\"messages\"") != std::string_view::npos;
  api.api.handle({.method = "POST",
                  .path = is_chat ? "/v1/chat/completions" : "/v1/completions",
                  .body = std::string(input)},
                 reply, {});
  require(reply.status >= 200 && reply.status < 500, "no answer, or a failure of the server");
  if (reply.status != 200) throw UserError("refused");
}

void read_transcripts(std::string_view input) {
  TranscriptMessages messages;
  RevisionFilter filter;
  std::optional<std::string> refused;
  for (const std::string_view line : lines_of(input)) {
    try {
      for (const TranscriptLine& heard :
           parse_transcript_line(std::string(line), "line", messages)) {
        filter.is_stale(heard);
      }
    } catch (const UserError& error) {  // the next one may be better
      refused = error.what();
    }
  }
  if (refused) throw UserError("{}", *refused);
}

}  // namespace predgen
