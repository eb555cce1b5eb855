#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "serve/realtime/realtime_api.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/fake_voice.h"
#include "tests/fakes/stage.h"
#include "tests/fakes/waiting.h"
#include "tests/serve/realtime/fake_sender.h"

namespace predgen::serve {

/// A voice at the rate of realtime sound: a sentence is some chunks of it. After the last of those
/// that it may speak it goes on without sound.
class RealtimeVoice : public SpeechSynthesizer {
 public:
  static constexpr size_t kChunk = 4, kChunksPerSentence = 2;

  RealtimeVoice(int num_chunks, std::string broken_sentence)
      : chunks_left_(num_chunks), broken_sentence_(std::move(broken_sentence)) {}
  int sample_rate() const override { return kRealtimeRate; }
  std::string language() const override { return "en"; }
  std::unique_ptr<Synthesis> begin(const std::string& sentence) override {
    if (sentence == broken_sentence_) throw Error("the voice is broken");
    return std::make_unique<Sentence>(*this);
  }

 private:
  struct Sentence : Synthesis {
    explicit Sentence(RealtimeVoice& of) : voice(of) {}
    bool advance(std::vector<float>& samples) override {
      if (voice.chunks_left_ == 0) {
        take(std::chrono::milliseconds(1));
        return true;
      }
      --voice.chunks_left_;
      samples.insert(samples.end(), kChunk, 0.5f);
      return ++num_chunks < kChunksPerSentence;
    }
    RealtimeVoice& voice;
    size_t num_chunks = 0;
  };

  int chunks_left_;
  const std::string broken_sentence_;
};

/// What several clients' conversations share. Answers echo what was asked: "you said: ...".
struct House : FakeHost {
  explicit House(bool has_voice = false, int64_t context = 2048)
      : FakeHost(predgen::kWords, {.max_positions = context,
                                   .next = [this](TokenSpan history) { return next(history); }}) {
    host.session.turn.max_new_tokens = 64;
    host.session.max_context = context;
    if (has_voice) host.offer.voice = &voice;
    engine.observe_passes([this](const PassSize&) {
      if (on_pass) on_pass();
    });
  }

  TokenId next(TokenSpan history) {
    const auto [user, place] = read_history(tokenizer, history);
    const TokenIds ids = tokenizer.encode(answer(user));
    prompts.push_back(tokenizer.decode(history, /*keep_special=*/true));
    return place < ids.size() ? ids[place] : FakeTokenizer::kEnd;
  }
  /// With the engine lock. What the model saw when it was run last.
  std::string last_prompt() {
    const EngineLock::Hold hold(engine_lock);
    return prompts.back();
  }
  /// Whether the model ever saw a prompt that begins and goes on so.
  bool was_asked(const std::string& begin, const std::string& more) {
    const EngineLock::Hold hold(engine_lock);
    return std::ranges::any_of(prompts, [&](const std::string& prompt) {
      return prompt.starts_with(begin) && prompt.find(more) != std::string::npos;
    });
  }
  int64_t num_positions() {
    const EngineLock::Hold hold(engine_lock);
    return engine.pool().num_allocated();
  }

  std::function<std::string(const std::string& user)> answer = [](const std::string& user) {
    return "You said: " + user + ". Go on!";
  };
  std::function<void()> on_pass;  // with the engine lock
  std::string broken_sentence;    // of voices that are made from now on
  int num_chunks = 1'000'000;     // that they may speak
  std::mutex voices_mutex;
  std::vector<std::string> voices, prompts;  // that were asked for
  const FakeVoice voice{{"anna", "otto"}, [this](const std::string& name) {
                          const std::lock_guard lock(voices_mutex);
                          voices.push_back(name);
                          return std::make_unique<RealtimeVoice>(num_chunks, broken_sentence);
                        }};
};

/// A client at it.
struct Talk {
  explicit Talk(House& house, bool is_beta = false, const std::string& key = "")
      : connection(house.host, std::nullopt, key, is_beta) {
    connection.on_open(client);
    created = client.next();
  }
  ~Talk() { leave(); }
  void leave() {
    if (!std::exchange(has_left, true)) connection.on_close();
  }

  void send(const Json& event) { connection.on_text(event.dump()); }
  void say(const std::string& text, const std::string& id = "") {
    Json item{{"type", "message"},
              {"role", "user"},
              {"content", Json::array({{{"type", "input_text"}, {"text", text}}})}};
    if (!id.empty()) item["id"] = id;
    send({{"type", "conversation.item.create"}, {"item", item}});
  }
  void hear(const std::string& text, bool end_of_turn = false) {
    send({{"type", "predgen.transcript.update"}, {"text", text}, {"end_of_turn", end_of_turn}});
  }
  void update(const Json& session) { send({{"type", "session.update"}, {"session", session}}); }
  void respond() { send({{"type", "response.create"}}); }
  /// The response to it, with all events on the way.
  Json ask(const std::string& text) {
    say(text);
    respond();
    return client.next("response.done")["response"];
  }
  std::string error_code() { return client.next("error")["error"]["code"].get<std::string>(); }

  FakeSender client;
  RealtimeConnection connection;
  Json created;
  bool has_left = false;
};

/// Waits until the newest prompt holds this, as the session has it when it has done with what it
/// was sent.
inline void settle(House& house, const std::string& drafted) {
  ASSERT_TRUE(comes_true([&] {
    const EngineLock::Hold hold(house.engine_lock);
    return !house.prompts.empty() && house.prompts.back().find(drafted) != std::string::npos;
  })) << "no draft has "
      << drafted;
}

inline std::string text_of(const Json& response) {
  const Json& part = response["output"].at(0)["content"].at(0);
  return part.contains("text") ? part["text"] : part["transcript"];
}

inline std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) {
    const auto type = event["type"].get<std::string>();
    if (types.empty() || types.back() != type) types.push_back(type);
  }
  return types;
}

}  // namespace predgen::serve
