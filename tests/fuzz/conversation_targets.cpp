// Conversations, event by event, on a model without weights.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <set>
#include <string>

#include "core/error.h"
#include "hear/sherpa_recogniser.h"
#include "tests/fakes/waiting.h"
#include "tests/fuzz/lines.h"
#include "tests/fuzz/targets.h"
#include "tests/serve/wyoming/visit.h"

namespace predgen {
namespace {

/// What a client is told must be in the order of the protocol.
class OrderlyClient : public serve::WebSocketSender {
 public:
  void send(std::string text) override {
    const Json event = Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
    require(event.is_object(), "an event that is no JSON");
    const auto type = event["type"].get<std::string>();
    const std::lock_guard lock(mutex_);
    if (type == "response.created") {
      require(!is_answering_, "two responses at a time");
      is_answering_ = true;
    }
    if (type.starts_with("response.")) require(is_answering_, "words without a response");
    if (type == "response.done") is_answering_ = false;
    if (type == "session.updated") {
      for (const Json& kind : event["session"]["predgen"]["events"]) {
        asked_.insert("predgen." + kind.get<std::string>());
      }
    }
    if (type.starts_with("predgen.")) {
      require(asked_.contains(type.substr(0, type.find('.', 8))), "an event that nobody wants");
    }
    if (type == "error") {
      ++num_errors_;
      const Json& code = event["error"]["code"];
      require(event["error"]["type"] != "server_error" || code == "recogniser_failed" ||
                  code == "server_stopping",
              "the server failed");
    }
    changed_.notify_all();
  }
  void close(int, const std::string&) override {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
    changed_.notify_all();
  }
  void wait_for_answer() {
    std::unique_lock lock(mutex_);
    require(changed_.wait_for(lock, std::chrono::seconds(20),
                              [&] { return !is_answering_ || is_closed_; }),
            "a response that never ends");
  }
  int num_errors() {
    const std::lock_guard lock(mutex_);
    return num_errors_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> asked_;
  bool is_answering_ = false, is_closed_ = false;
  int num_errors_ = 0;
};

/// Hears what the input says, in the order that a recogniser keeps.
struct Ear {
  struct Hearing : Recogniser {
    Hearing(Ear& at, RecogniserHandler& asks) : ear(at), handler(asks) { ear.hearing = this; }
    ~Hearing() override { ear.hearing = nullptr; }
    bool add(int64_t of, std::vector<float>) override {
      utterance = of;
      return true;
    }
    void finish(int64_t of) override { finished.push_back(of); }
    void drop(int64_t of) override { std::erase(finished, of); }
    Ear& ear;
    RecogniserHandler& handler;
    int64_t utterance = 0;
    std::deque<int64_t> finished{};
  };
  MakeRecogniser make = [this](RecogniserHandler& handler) {
    return std::make_unique<Hearing>(*this, handler);
  };

  void hear(const std::string& message) {
    if (!hearing) return;
    const RecognisedSegment segment = parse_segment(message);
    const int64_t of = hearing->finished.empty() ? hearing->utterance : hearing->finished.front();
    hearing->handler.on_segment(of, segment);
  }
  void end() {
    if (!hearing || hearing->finished.empty()) return;
    const int64_t of = hearing->finished.front();
    hearing->finished.pop_front();
    hearing->handler.on_end(of);
  }
  void fail() {
    if (!hearing) return;
    hearing->finished.clear();
    hearing->handler.on_failure("has gone away");
  }
  Hearing* hearing = nullptr;
};

struct SmallHouse : serve::House {
  explicit SmallHouse(bool has_voice) : serve::House(has_voice, /*context=*/256) {
    host.session.turn.max_new_tokens = 24;
    host.offer.has_tools = true;
    num_chunks = 64;
  }
};

}  // namespace

/// Lines: an event; nothing, which waits for an answer under way; a recogniser's message behind a
/// '>', its end '.', its failure '!'; a second of time '+'. A voice speaks if the first line is
/// '~'.
void read_realtime(std::string_view input) {
  Ear ear;
  OrderlyClient client;
  SmallHouse house(input.starts_with("~\n"));
  house.host.make_recogniser = ear.make;
  house.host.offer.has_recogniser = true;
  serve::RealtimeConnection connection(house.host, std::nullopt);
  connection.on_open(client);
  for (const std::string_view line : lines_of(input)) {
    try {
      if (line.empty()) {
        client.wait_for_answer();
      } else if (line[0] == '>') {
        ear.hear(std::string(line.substr(1)));
      } else if (line == ".") {
        ear.end();
      } else if (line == "!") {
        ear.fail();
      } else if (line == "+") {
        house.clock.set(house.clock.now().count() + 1);
      } else if (line == "-") {
        connection.on_drain();
      } else if (line != "~") {
        connection.on_text(line);
      }
    } catch (const UserError&) {  // of a recogniser
    }
  }
  connection.on_close();
  if (client.num_errors() > 0) throw UserError("an error");
}

/// The first byte says how many bytes come at a time.
void read_wyoming(std::string_view input) {
  if (input.empty()) throw UserError("nothing");
  SmallHouse house(/*has_voice=*/true);
  serve::Service service(house, /*max_conversations=*/2);
  serve::Visit visit(service);
  serve::WyomingParser parser({.header_bytes = 1024, .body_bytes = 2048});
  const size_t step = 1 + static_cast<unsigned char>(input[0]);
  const auto quiet = [&] {  // some time for an answer, which need not come
    stays_true(std::chrono::milliseconds(20), [&] { return visit.client.num_unread() == 0; });
    while (visit.client.num_unread() > 0) {
      const serve::WyomingEvent event = visit.client.next();
      serve::WyomingParser again({.header_bytes = 1 << 20, .body_bytes = 1 << 20});
      again.add(serve::to_bytes(event));
      const auto same = again.next();
      require(same && same->type == event.type && same->payload == event.payload,
              "an event that is none");
    }
  };
  for (size_t at = 1; at < input.size(); at += step) {
    parser.add(input.substr(at, step));
    while (const auto event = parser.next()) {
      visit.served->take(*event);
      if (event->type == "transcript" || event->type == "synthesize") quiet();
    }
  }
  quiet();
}

}  // namespace predgen
