// Seconds of passes of llama.cpp over so many tokens after a context, with the logits of all of
// them, as a draft is verified (llama-bench asks for the last token's only). For
// passes_vs_peers.py, which builds it: llama_verify MODEL.gguf THREADS CONTEXT RUNS WIDTH.. prints
// {"WIDTH": seconds, ..}, medians.
#include <llama.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "llama_verify: %s\n", what);
  std::exit(2);
}

/// Random tokens from position `at` on; returns seconds.
double run(llama_context* context, int32_t vocabulary, int32_t at, int32_t count, bool all_logits) {
  llama_batch batch = llama_batch_init(count, 0, 1);
  for (int32_t i = 0; i < count; ++i) {
    batch.token[i] = std::rand() % vocabulary;
    batch.pos[i] = at + i;
    batch.n_seq_id[i] = 1;
    batch.seq_id[i][0] = 0;
    batch.logits[i] = all_logits || i + 1 == count;
  }
  batch.n_tokens = count;
  const auto start = std::chrono::steady_clock::now();
  if (llama_decode(context, batch) != 0) fail("a pass failed");
  llama_synchronize(context);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  llama_batch_free(batch);
  return seconds.count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) fail("MODEL.gguf THREADS CONTEXT RUNS WIDTH..");
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  const int threads = std::atoi(argv[2]), length = std::atoi(argv[3]), runs = std::atoi(argv[4]);
  if (threads < 1 || length < 1 || runs < 1) fail("THREADS, CONTEXT and RUNS are 1 or more");
  int widest = 0;
  for (int i = 5; i < argc; ++i) widest = std::max(widest, std::atoi(argv[i]));
  llama_backend_init();
  llama_model_params model_params = llama_model_default_params();
  model_params.n_gpu_layers = 0;
  llama_model* model = llama_model_load_from_file(argv[1], model_params);
  if (model == nullptr) fail("the model does not load");
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<uint32_t>(length + widest);
  params.n_threads = params.n_threads_batch = threads;
  llama_context* context = llama_init_from_model(model, params);
  if (context == nullptr) fail("no context");
  const int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));

  run(context, vocabulary, 0, length, false);
  std::string text = "{";
  for (int i = 5; i < argc; ++i) {
    std::vector<double> seconds;
    for (int n = -1; n < runs; ++n) {  // one to warm up
      const double taken = run(context, vocabulary, length, std::atoi(argv[i]), true);
      if (!llama_memory_seq_rm(llama_get_memory(context), 0, length, -1)) fail("no way back");
      if (n >= 0) seconds.push_back(taken);
    }
    std::nth_element(seconds.begin(), seconds.begin() + runs / 2, seconds.end());
    text += (i == 5 ? "\"" : ", \"") + std::string(argv[i]) +
            "\": " + std::to_string(seconds[static_cast<size_t>(runs / 2)]);
  }
  std::printf("%s}\n", text.c_str());
  llama_free(context);
  llama_model_free(model);
}
