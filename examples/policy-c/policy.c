// A flush policy in C, without a library: it flushes at a size, or once the oldest batch is so old. What a component is made of is all here:
// exports with the names of the contract, records in memory, and an allocator for what the host hands over.
//
//   scripts/examples.sh c        compiles it and makes target/plugins/examples/policy-c.wasm of it

#include <stdint.h>

#define EXPORT(name) __attribute__((export_name(name)))

// ---- memory: the host writes the config here, once for each instance, and nothing is ever freed ----

static _Alignas(16) uint8_t heap[64 << 10];
static uint32_t used;

EXPORT("cabi_realloc")
void *cabi_realloc(void *old, uint32_t old_size, uint32_t align, uint32_t size) {
    (void)old, (void)old_size;
    uint32_t at = (used + align - 1) & ~(align - 1);
    if (at > sizeof heap || size > sizeof heap - at) __builtin_trap();
    used = at + size;
    return heap + at;
}

// ---- the records of the contract, as they lie in memory ----

struct text { const char *bytes; uint32_t length; };
struct description { struct text name, version, summary, config_schema; };
struct result { uint8_t is_error; struct text message; };
// A flush decision: `wait` with bounds, or `now` without.
struct decision { uint8_t wait; uint64_t bytes, records, age_us, quiet_us; uint32_t uploads_at_most; };

#define TEXT(literal) { literal, sizeof literal - 1 }

static const char SCHEMA[] =
    "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
    "\"max_bytes\":{\"type\":\"integer\",\"minimum\":4096,\"maximum\":268435456,\"default\":4194304,\"description\":\"Buffered bytes that are flushed at once\"},"
    "\"max_age_ms\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":60000,\"default\":100,\"description\":\"Oldest that a buffered batch gets, in milliseconds\"}}}";

EXPORT("tidegate:policy/describe@0.1.0#describe")
struct description *describe(void) {
    static struct description self = { TEXT("policy-c"), TEXT("1.0.0"), TEXT("Flushes at a size or an age; written in C"), TEXT(SCHEMA) };
    return &self;
}

// ---- the policy ----

static uint64_t max_bytes = 4 << 20, max_age_us = 100000;

// The host has checked the config against the schema: a key is followed by a colon and a whole number.
static uint64_t number(const char *config, uint32_t length, const char *key, uint32_t key_length, uint64_t otherwise) {
    for (uint32_t at = 0; at + key_length <= length; at++) {
        uint32_t same = 0;
        while (same < key_length && config[at + same] == key[same]) same++;
        if (same < key_length) continue;
        uint64_t value = 0;
        for (at += key_length; at < length && (config[at] == ':' || config[at] == ' '); at++) {}
        for (; at < length && config[at] >= '0' && config[at] <= '9'; at++) value = value * 10 + (uint64_t)(config[at] - '0');
        return value;
    }
    return otherwise;
}

#define NUMBER(key, otherwise) number(config, length, "\"" key "\"", sizeof key + 1, otherwise)

EXPORT("tidegate:policy/flush@0.1.0#init")
struct result *init(const char *config, uint32_t length, uint32_t topic_partitions, uint32_t lane_partitions, uint32_t lanes, uint32_t window,
                    uint64_t max_segment_bytes, uint64_t topic_max_age_us, uint32_t index_entry_bytes, uint32_t read_ahead_slices,
                    uint64_t cache_bytes, uint64_t put_price_nano, uint64_t get_price_nano) {
    static struct result accepted, refused = { 1, TEXT("max_bytes is above the topic's largest segment") };
    max_bytes = NUMBER("max_bytes", max_bytes);
    max_age_us = NUMBER("max_age_ms", max_age_us / 1000) * 1000;
    return max_bytes > max_segment_bytes ? &refused : &accepted;
}

EXPORT("tidegate:policy/flush@0.1.0#decide")
struct decision *decide(uint32_t reason, uint64_t now_ms, uint64_t buffered_bytes, uint64_t buffered_records, uint32_t buffered_partitions,
                        uint64_t oldest_age_us, uint64_t quiet_us, uint64_t arrival_bytes_per_s, uint32_t arrival_batches_per_s,
                        uint32_t waiting_acks, uint32_t uploads_in_flight, uint64_t upload_p50_us, uint64_t ack_p99_us,
                        uint32_t throttled_permille, uint32_t pressure_permille, uint32_t topic_put_share_permille) {
    static struct decision now, wait = { 1, 0, UINT64_MAX, 0, UINT64_MAX, UINT32_MAX };
    wait.bytes = max_bytes;
    wait.age_us = max_age_us;
    return buffered_bytes >= max_bytes || oldest_age_us >= max_age_us ? &now : &wait;
}
