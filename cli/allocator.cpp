// predgen links jemalloc: tensors of ever new sizes make glibc's allocator search long free lists
// and give pages back to the kernel only to fault them in again (docs/measurements.md). jemalloc
// reads this string at start; MALLOC_CONF in the environment overrides it. Large tensors are kept
// like small ones (oversize_threshold: by default, 8 MiB and more go back at once).
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf =
    "oversize_threshold:0,dirty_decay_ms:5000,muzzy_decay_ms:5000,metadata_thp:auto,thp:always";
}
