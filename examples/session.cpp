// Answers words that arrive one by one, as a program of its own on predgen's libraries.
//
//   session MODEL "What is the capital of France?"
//
// MODEL is a folder, a .gguf file, or a name that `predgen models` lists. Built by the
// CMakeLists.txt beside it.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <predgen/checkpoint/checkpoint.h>
#include <predgen/checkpoint/load_model.h>
#include <predgen/core/error.h>
#include <predgen/hear/transcripts/scheduled_source.h>
#include <predgen/runtime/converse/session.h>
#include <predgen/runtime/speech/make_speaker.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: session MODEL \"a question\"\n");
    return 2;
  }
  try {
    const c10::InferenceMode inference;
    const auto checkpoint = predgen::open_checkpoint(argv[1]);
    const auto tokenizer = predgen::load_tokenizer(checkpoint->read_tokenizer({}));
    predgen::Engine engine(predgen::load_model(*checkpoint));
    predgen::SystemClock clock({});
    // Without a voice: the answer is text.
    predgen::Session session({}, engine, *tokenizer, predgen::make_speaker(clock, {}, {}), clock);

    // A person who types 600 characters a minute. A recogniser's words come from a source of your
    // own.
    predgen::ScheduledSource words(predgen::type_text(argv[2], 600, clock.now()));
    const auto turn = session.run_turn(words, {.on_text = [](const std::string& text) {
                                         std::fputs(text.c_str(), stdout);
                                         std::fflush(stdout);
                                       }});
    if (turn->error) throw predgen::Error(turn->error->text);
    std::printf("\n%ld passes while the words came, %ld after the last one\n",
                turn->metrics.speculative_nfe,
                turn->metrics.total_nfe - turn->metrics.speculative_nfe);
    return 0;
  } catch (const predgen::UserError& error) {  // something to change: a path, a file
    std::fprintf(stderr, "session: %s\n", error.what());
    return 2;
  }
}
