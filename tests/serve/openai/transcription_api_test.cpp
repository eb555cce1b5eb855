#include "serve/openai/transcription_api.h"

#include <gtest/gtest.h>

#include <map>

#include "audio/sound_encoder.h"
#include "core/json.h"
#include "serve/api_error.h"
#include "tests/fakes/fake_host.h"
#include "tests/fakes/recogniser_desk.h"
#include "tests/serve/http/fake_reply.h"

namespace predgen::serve {
namespace {

using Form = std::map<std::string, std::string>;

std::string two_seconds() {
  SoundEncoder encoder(SoundFormat::kFlac, 16000);
  std::string bytes = encoder.encode(std::vector<float>(32000, 0.25F));
  return bytes + encoder.finish();
}

std::string body_of(const Form& form) {
  std::string body;
  for (const auto& [name, value] : form) {
    body +=
        "--xyz\r\nContent-Disposition: form-data; name=\"" + name + "\"\r\n\r\n" + value + "\r\n";
  }
  return body + "--xyz--\r\n";
}

/// Hears "hello there" and "bye" in whatever is sent.
struct Listener : FakeHost {
  Listener() : FakeHost({" one"}, {}) {
    host.make_recogniser = desk.make;
    host.offer.language = "en";
    desk.on_finish = [this] {
      const auto voice = [](int64_t since, int64_t until) {
        return HeardVoice{.since = since, .until = until};
      };
      desk.handler->on_segment(
          0, {.text = "hello there", .number = 0, .is_over = true, .voice = voice(1600, 16000)});
      desk.handler->on_segment(
          0, {.text = "bye", .number = 1, .is_over = true, .voice = voice(20000, 24000)});
      desk.end();
    };
  }
  void ask(Form form, FakeReply& reply) {
    form.emplace("file", two_seconds());
    api.serve({.method = "POST",
               .path = "/v1/audio/transcriptions",
               .body = body_of(form),
               .content_type = "multipart/form-data; boundary=xyz"},
              "one", reply, stop.get_token());
  }
  std::string text(const Form& form) {
    FakeReply reply;
    ask(form, reply);
    return reply.answers.at(0).body;
  }
  ApiError refused(const Form& form) {
    FakeReply reply;
    try {
      ask(form, reply);
    } catch (const ApiError& error) {
      return error;
    }
    ADD_FAILURE() << "is taken";
    return ApiError({}, "");
  }

  RecogniserDesk desk;
  std::stop_source stop;
  TranscriptionApi api{host, /*max_sessions=*/4};
};

TEST(TranscriptionApi, TellsWhatIsSaid) {
  Listener listener;
  const Json answer = Json::parse(listener.text({{"model", "whisper-1"}}));
  EXPECT_EQ(answer["text"], "hello there bye");
  EXPECT_EQ(answer["usage"]["seconds"], 2);
  EXPECT_EQ(listener.desk.samples.size(), 32000U);
}

TEST(TranscriptionApi, InTheFormThatIsAskedFor) {
  EXPECT_EQ(Listener().text({{"response_format", "text"}}), "hello there bye\n");
  EXPECT_EQ(Listener().text({{"response_format", "srt"}}),
            "1\n00:00:00,100 --> 00:00:01,000\nhello there\n\n"
            "2\n00:00:01,250 --> 00:00:01,500\nbye\n\n");
  EXPECT_EQ(Listener().text({{"response_format", "vtt"}}),
            "WEBVTT\n\n00:00:00.100 --> 00:00:01.000\nhello there\n\n"
            "00:00:01.250 --> 00:00:01.500\nbye\n\n");
  const Json whole = Json::parse(Listener().text(
      {{"response_format", "verbose_json"}, {"timestamp_granularities[]", "segment"}}));
  EXPECT_EQ(whole["language"], "en");
  EXPECT_EQ(whole["duration"], 2);
  EXPECT_EQ(whole["segments"][1]["text"], "bye");
  EXPECT_EQ(whole["segments"][1]["start"], 1.25);
}

TEST(TranscriptionApi, StreamsParts) {
  Listener listener;
  FakeReply reply;
  listener.ask({{"model", "gpt-4o-mini-transcribe"}, {"stream", "true"}}, reply);
  ASSERT_EQ(reply.events.size(), 3U);
  EXPECT_EQ(Json::parse(reply.events[0])["delta"], "hello there");
  EXPECT_EQ(Json::parse(reply.events[1])["delta"], " bye");
  EXPECT_EQ(Json::parse(reply.events[2])["type"], "transcript.text.done");
  EXPECT_EQ(Json::parse(reply.events[2])["text"], "hello there bye");
}

TEST(TranscriptionApi, HintsAreTaken) {
  const Form form{{"model", ""},
                  {"language", "en-US"},
                  {"prompt", "Names: Bella."},
                  {"temperature", "0"},
                  {"stream", "False"},
                  {"chunking_strategy", "auto"},
                  {"response_format", "text"}};
  EXPECT_EQ(Listener().text(form), "hello there bye\n");
}

TEST(TranscriptionApi, RefusesByNameWhatItCannotHonour) {
  Listener listener;
  EXPECT_EQ(listener.refused({{"model", "gpt-4o-transcribe-diarize"}}).param(), "model");
  EXPECT_EQ(listener.refused({{"language", "de"}}).param(), "language");
  EXPECT_EQ(listener.refused({{"response_format", "diarized_json"}}).param(), "response_format");
  EXPECT_EQ(listener.refused({{"timestamp_granularities[]", "word"}}).param(),
            "timestamp_granularities");
  EXPECT_EQ(listener.refused({{"stream", "perhaps"}}).param(), "stream");
  EXPECT_EQ(listener.refused({{"colour", "red"}}).code(), "unknown_parameter");
  const ApiError no_sound = listener.refused({{"file", "ftypM4A"}});
  EXPECT_EQ(no_sound.param(), "file");
  EXPECT_NE(std::string(no_sound.what()).find("m4a and webm cannot"), std::string::npos);
  listener.host.offer.language = "";
  EXPECT_NE(listener.text({{"language", "de"}}), "") << "nobody knows what it hears";
  listener.host.make_recogniser = {};
  EXPECT_EQ(listener.refused({}).code(), "no_recogniser");
}

TEST(TranscriptionApi, AFailureOfTheRecogniserIsTold) {
  Listener listener;
  listener.desk.on_finish = [&] { listener.desk.handler->on_failure("has gone away"); };
  const ApiError failure = listener.refused({});
  EXPECT_EQ(failure.status(), 503);
  EXPECT_EQ(failure.code(), "recogniser_failed");
}

TEST(TranscriptionApi, AFewFilesAreInMemoryAtATime) {
  Listener listener;
  std::vector<std::shared_ptr<const void>> slots;
  for (const char* client : {"one", "two", "three", "four"}) {
    slots.push_back(listener.api.begin_upload(client));
  }
  EXPECT_THROW(listener.api.begin_upload("five"), ApiError);
  slots.pop_back();
  EXPECT_NE(listener.api.begin_upload("five"), nullptr);
}

}  // namespace
}  // namespace predgen::serve
