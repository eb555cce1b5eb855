// Bodies of requests, up to their answers, and the messages of speech services.
#include <optional>
#include <string>

#include "core/error.h"
#include "core/json.h"
#include "runtime/input/transcript_lines.h"
#include "runtime/input/transcripts/transcript_messages.h"
#include "runtime/serve/openai_api.h"
#include "tests/fakes/borrowing_engine.h"
#include "tests/fakes/fake_language_model.h"
#include "tests/fakes/fake_tokenizer.h"
#include "tests/fakes/manual_clock.h"
#include "tests/fuzz/lines.h"
#include "tests/fuzz/targets.h"

namespace predgen {
namespace {

/// Everything but the port, on a model that answers each request the same.
struct Api {
  Api()
      : model({.vocab_size = tokenizer.vocab_size(), .max_positions = 256}),
        engine(borrowing_engine(model, {.baton = &baton})),
        completer(engine, baton, tokenizer, defaults, config, metrics, clock),
        realtime(host, 1),
        api(completer, engine, baton, metrics, realtime, "m", ApiKeys({})) {
    config.max_new_tokens = 8;
    config.kept_conversations = 2;
    defaults.stop_tokens = {FakeTokenizer::kEnd};
  }

  ServeConfig config;
  FakeTokenizer tokenizer{{" one", "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call>"}};
  FakeLanguageModel model;
  Baton baton;
  Engine engine;
  GenerationDefaults defaults;
  ServeMetrics metrics;
  ManualClock clock;
  Completer completer;
  RealtimeHost host{
      .engine = engine, .baton = baton, .tokenizer = tokenizer, .clock = clock, .metrics = metrics};
  RealtimeApi realtime;
  OpenAiApi api;
};

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
  void open_web_socket(WebSocketHandler&, const std::string&) override {}
  int status = 0;
};

}  // namespace

void read_request(std::string_view input) {
  Api api;
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
