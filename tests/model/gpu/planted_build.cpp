[[gnu::visibility("hidden")]] extern const char* const planted_build;
const char* const planted_build = PREDGEN_BUILD;
