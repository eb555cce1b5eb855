// Bodies of requests, up to their answers; who is let in; the messages of speech services.
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "hear/transcripts/transcript_lines.h"
#include "hear/transcripts/transcript_reader.h"
#include "tests/fakes/fake_api.h"
#include "tests/fuzz/lines.h"
#include "tests/fuzz/targets.h"

namespace predgen {
namespace {

const std::string kCall = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";

serve::ServeConfig small_config() {
  serve::ServeConfig config;
  config.max_new_tokens = 8;
  config.cached_conversations = 2;
  return config;
}

struct Reply : serve::HttpReply {
  bool is_gone() const override { return false; }
  void send(const serve::HttpAnswer& answer) override {
    require(status == 0, "two answers");
    status = answer.status;
    require(Json::accept(answer.body), "an answer that is no JSON");
  }
  void add_header(const std::string&, const std::string&) override {}
  void send_event(std::string_view data, std::string_view) override {
    status = 200;
    require(data == "[DONE]" || Json::accept(data), "an event that is no JSON");
    require(data.find("server_error") == std::string_view::npos, "the server failed");
  }
  bool offer_event(std::string_view data, std::string_view type) override {
    send_event(data, type);
    return true;
  }
  void flush() override {}
  void send_part(const std::string&, std::string_view) override { status = 200; }
  void open_web_socket(serve::WebSocketHandler&, const std::string&) override {}
  int status = 0;
};

}  // namespace

void read_request(std::string_view input) {
  FakeApi api({" one", kCall}, small_config());
  Reply reply;
  const auto has = [&](std::string_view name) { return input.find(name) != input.npos; };
  const bool is_chat = has("\"messages\"");
  const char* other = has("\"input\"") ? "/v1/responses" : "/v1/completions";
  api.api.handle({.method = "POST",
                  .path = is_chat ? "/v1/chat/completions" : other,
                  .body = std::string(input)},
                 reply, {});
  require(reply.status >= 200 && reply.status < 500, "no answer, or a failure of the server");
  if (reply.status != 200) throw UserError("refused");
}

/// Lines: Host, Origin, Authorization, the protocols of a WebSocket.
void read_access(std::string_view input) {
  static const std::string kKey = "the only key";
  std::vector<std::string> lines;
  for (const std::string_view line : lines_of(input)) lines.emplace_back(line);
  lines.resize(4);
  const serve::HttpRequest request{.method = "GET",
                                   .path = "/v1/models",
                                   .authorization = lines[2],
                                   .origin = lines[1],
                                   .host = lines[0],
                                   .protocols = lines[3]};
  serve::ServeConfig config = small_config();
  config.api_keys_sha256 = {sha256_hex(kKey)};
  Reply with_key, without;
  FakeApi({" one"}, config).api.handle(request, with_key, {});
  require(with_key.status != 200 || input.find(kKey) != std::string_view::npos, "no key is needed");
  FakeApi({" one"}, small_config()).api.handle(request, without, {});
  const std::string name = lines[0].substr(0, lines[0].find(':'));
  const bool may_be_this = name.starts_with('[') || name.find('.') == std::string::npos ||
                           name.find_first_not_of("0123456789abcdefABCDEF.") == std::string::npos ||
                           name.size() - name.rfind('.') <= sizeof ".localhost";
  require(without.status != 200 || may_be_this, "any name is this machine's");
  require(with_key.status < 500 && without.status < 500, "the server failed");
  if (with_key.status != 200 && without.status != 200) throw UserError("refused");
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
