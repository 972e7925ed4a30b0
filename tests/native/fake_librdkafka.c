/* The functions of librdkafka that the kernel calls, as rdkafka.h describes them: what a test has put
 * in comes out, what is handed over is kept, and each can be made to fail. All memory is of the exact
 * size, so that a sanitizer sees one byte too far. Compiled together with kernel.c. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct { char *name; void *value; size_t len; int32_t unreadable; } pair;
typedef struct { size_t count; pair *pairs; int32_t unreadable; } headers;
typedef struct { int32_t code; } error;

typedef struct { /* begins as rd_kafka_message_t */
    int32_t err;
    void *topic;
    int32_t partition;
    void *value;
    size_t value_len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *opaque;
    int64_t timestamp;
    headers *headers;
} message;

typedef struct { /* rd_kafka_vu_t */
    int32_t type;
    union { void *ptr; int32_t i32; int64_t i64; struct { void *ptr; size_t size; } mem; char pad[64]; } is;
} argument;

typedef struct {
    void *topic; int32_t partition, flags; int64_t timestamp;
    void *value; size_t value_len; void *key; size_t key_len; headers *headers;
} produced;

enum { CONSUME, HEADERS_NEW, HEADER_ADD, PRODUCE, CALLS };

static int64_t live, fails_at[CALLS];
static int32_t fails_with[CALLS];
static message **waiting;
static size_t waiting_count, waiting_taken;
static produced *kept;
static size_t kept_count;

/* ------------------------------------------------------------------ what a test says and asks */

/* Let the call of a function after so many good ones fail, once. */
void fake_fail(int32_t call, int64_t after, int32_t code) { fails_at[call] = after + 1; fails_with[call] = code; }

int64_t fake_live(void) { return live; }

static int32_t failure(int32_t call) { return fails_at[call] && !--fails_at[call] ? fails_with[call] : 0; }

static void *copy(const void *data, size_t len) {
    void *made = data ? malloc(len) : NULL;
    if (made && len) memcpy(made, data, len);
    return made;
}

/* A buffer whose bytes nobody has written yet. */
void *fake_buffer(size_t size) {
    void *made = malloc(size);
    memset(made, 0xAA, size);
    return made;
}

void fake_free(void *buffer) { free(buffer); }

static void add(headers *to, const char *name, size_t name_len, const void *value, size_t len) {
    to->pairs = realloc(to->pairs, sizeof(pair) * (to->count + 1));
    pair *made = &to->pairs[to->count++];
    made->name = malloc(name_len + 1);
    memcpy(made->name, name, name_len);
    made->name[name_len] = 0;
    made->value = copy(value, len);
    made->len = len;
    made->unreadable = 0;
}

static headers *new_headers(void) { live++; return calloc(1, sizeof(headers)); }

static void free_headers(headers *gone) {
    for (size_t i = 0; i < gone->count; i++) { free(gone->pairs[i].name); free(gone->pairs[i].value); }
    free(gone->pairs);
    free(gone);
    live--;
}

void fake_message(int32_t err, void *topic, int32_t partition, int64_t offset, int64_t timestamp,
                  const void *key, size_t key_len, const void *value, size_t value_len) {
    message *made = calloc(1, sizeof(message));
    live++;
    made->err = err; made->topic = topic; made->partition = partition;
    made->offset = offset; made->timestamp = timestamp;
    made->key = copy(key, key_len); made->key_len = key_len;
    made->value = copy(value, value_len); made->value_len = value_len;
    waiting = realloc(waiting, sizeof(message *) * (waiting_count + 1));
    waiting[waiting_count++] = made;
}

/* Give the message that came last a header; without a name: headers, but none in them. */
void fake_header(const char *name, size_t name_len, const void *value, size_t len) {
    message *m = waiting[waiting_count - 1];
    if (!m->headers) m->headers = new_headers();
    if (name) add(m->headers, name, name_len, value, len);
}

/* The last message's headers, or the last of them, cannot be read. */
void fake_unreadable(int32_t all) {
    headers *of = waiting[waiting_count - 1]->headers;
    if (all) of->unreadable = 1; else of->pairs[of->count - 1].unreadable = 1;
}

size_t fake_kept(void) { return kept_count; }
const produced *fake_record(size_t i) { return &kept[i]; }

void fake_forget(void) {
    for (size_t i = 0; i < kept_count; i++) {
        free(kept[i].key); free(kept[i].value);
        if (kept[i].headers) free_headers(kept[i].headers);
    }
    free(kept); kept = NULL; kept_count = 0;
    free(waiting); waiting = NULL; waiting_count = waiting_taken = 0;
    memset(fails_at, 0, sizeof fails_at);
}

/* ------------------------------------------------------------------ what the kernel calls */

intptr_t rd_kafka_consume_batch_queue(void *queue, int timeout_ms, message **to, size_t most) {
    (void)queue; (void)timeout_ms;
    if (failure(CONSUME)) return -1;
    size_t taken = 0;
    while (taken < most && waiting_taken < waiting_count) to[taken++] = waiting[waiting_taken++];
    return (intptr_t)taken;
}

void rd_kafka_message_destroy(message *gone) {
    free(gone->key); free(gone->value);
    if (gone->headers) free_headers(gone->headers);
    free(gone);
    live--;
}

int64_t rd_kafka_message_timestamp(const message *m, int32_t *type) {
    if (type) *type = 1;
    return m->timestamp;
}

int32_t rd_kafka_message_headers(const message *m, headers **to) {
    if (!m->headers) return -156; /* _NOENT */
    if (m->headers->unreadable) return -199; /* _BAD_MSG */
    *to = m->headers;
    return 0;
}

size_t rd_kafka_header_cnt(const headers *of) { return of->count; }

int32_t rd_kafka_header_get_all(const headers *of, size_t i, const char **name, const void **value, size_t *len) {
    if (i >= of->count || of->pairs[i].unreadable) return -156; /* what is asked for stays as it was */
    *name = of->pairs[i].name; *value = of->pairs[i].value; *len = of->pairs[i].len;
    return 0;
}

headers *rd_kafka_headers_new(size_t room) {
    (void)room;
    return failure(HEADERS_NEW) ? NULL : new_headers();
}

int32_t rd_kafka_header_add(headers *to, const char *name, intptr_t name_len, const void *value, intptr_t len) {
    int32_t code = failure(HEADER_ADD);
    if (code) return code;
    add(to, name, name_len < 0 ? strlen(name) : (size_t)name_len, value, (size_t)len);
    return 0;
}

void rd_kafka_headers_destroy(headers *gone) { free_headers(gone); }

int32_t rd_kafka_error_code(const error *of) { return of->code; }

void rd_kafka_error_destroy(error *gone) { free(gone); live--; }

/* Headers are taken over where it succeeds, and stay the caller's where not; values are copied, so
 * that they are read here. */
error *rd_kafka_produceva(void *producer, const argument *given, size_t count) {
    (void)producer;
    int32_t code = failure(PRODUCE);
    if (code) {
        error *made = malloc(sizeof(error));
        live++;
        made->code = code;
        return made;
    }
    produced made = {0};
    for (size_t i = 0; i < count; i++) {
        const argument *a = &given[i];
        switch (a->type) {
        case 2: made.topic = a->is.ptr; break;
        case 3: made.partition = a->is.i32; break;
        case 4: made.value = copy(a->is.mem.ptr, made.value_len = a->is.mem.size); break;
        case 5: made.key = copy(a->is.mem.ptr, made.key_len = a->is.mem.size); break;
        case 7: made.flags = a->is.i32; break;
        case 8: made.timestamp = a->is.i64; break;
        case 10: made.headers = a->is.ptr; break;
        default: abort();
        }
    }
    kept = realloc(kept, sizeof(produced) * (kept_count + 1));
    kept[kept_count++] = made;
    return NULL;
}
