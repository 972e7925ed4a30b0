/* The loops between librdkafka and Arrow's buffers: plain C that knows neither Python nor Arrow's
 * library, so that one build serves a platform. librdkafka's functions come as addresses: it is linked
 * against nothing, and works with whichever librdkafka the Python client has loaded. Only what rdkafka.h
 * makes public is used.
 *
 * Who calls gives buffers of the sizes that kk_measure has told; nothing here allocates. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define KK_VERSION 1

/* rd_kafka_message_t */
typedef struct {
    int32_t err;
    void *topic;
    int32_t partition;
    void *value;
    size_t value_len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *opaque;
} message;

/* rd_kafka_vu_t */
typedef struct {
    int32_t type;
    union {
        void *ptr;
        int32_t i32;
        int64_t i64;
        struct { void *ptr; size_t size; } mem;
        char pad[64];
    } is;
} argument;

enum { TOPIC_HANDLE = 2, PARTITION, VALUE, KEY, OPAQUE, FLAGS, TIMESTAMP, HEADER, HEADERS };
enum { COPY_VALUE = 2, NO_MEMORY = -194 /* _CRIT_SYS_RESOURCE */ };

typedef struct {
    intptr_t (*consume_batch_queue)(void *, int, message **, size_t);
    void (*message_destroy)(message *);
    int64_t (*message_timestamp)(const message *, int32_t *);
    int32_t (*message_headers)(const message *, void **);
    size_t (*header_cnt)(const void *);
    int32_t (*header_get_all)(const void *, size_t, const char **, const void **, size_t *);
    void *(*produceva)(void *, const argument *, size_t);
    int32_t (*error_code)(const void *);
    void (*error_destroy)(void *);
    void *(*headers_new)(size_t);
    int32_t (*header_add)(void *, const char *, intptr_t, const void *, intptr_t);
    void (*headers_destroy)(void *);
} functions;

int32_t kk_version(void) { return KK_VERSION; }

/* ------------------------------------------------------------------ from librdkafka */

/* Take what comes within a time, `most` at most: records to `got`, in their order, and what is an error
 * to `errors`. Returns how many records there are, and in `failed` how many errors; below 0: none came. */
int64_t kk_take(const functions *f, void *queue, int32_t timeout_ms, int64_t most, message **got,
                message **errors, int64_t *failed) {
    int64_t all = f->consume_batch_queue(queue, timeout_ms, got, (size_t)most), rows = 0;
    *failed = 0;
    for (int64_t i = 0; i < all; i++) {
        message *m = got[i];
        if (i + 8 < all) __builtin_prefetch(got[i + 8]);
        if (m->err) errors[(*failed)++] = m; else got[rows++] = m;
    }
    return all < 0 ? all : rows;
}

typedef struct {
    int64_t rows, key_bytes, value_bytes, null_keys, null_values;
    int64_t headed, headers, name_bytes, header_bytes;
} sizes;

/* Measure records from the first on, until a column would have more than `most_bytes`; one at least. */
void kk_measure(const functions *f, message **got, int64_t count, int64_t most_bytes, sizes *s) {
    memset(s, 0, sizeof *s);
    for (int64_t i = 0; i < count; i++) {
        message *m = got[i];
        int64_t key = m->key ? (int64_t)m->key_len : 0, value = m->value ? (int64_t)m->value_len : 0;
        int64_t pairs = 0, names = 0, values = 0;
        void *headers;
        if (f->message_headers(m, &headers) == 0) {
            const char *name; const void *data; size_t len, all = f->header_cnt(headers);
            for (size_t j = 0; j < all && !f->header_get_all(headers, j, &name, &data, &len); j++) {
                pairs++;
                names += (int64_t)strlen(name);
                values += data ? (int64_t)len : 0;
            }
        }
        if (i && (s->key_bytes + key > most_bytes || s->value_bytes + value > most_bytes ||
                  s->name_bytes + names > most_bytes || s->header_bytes + values > most_bytes)) return;
        s->rows++;
        s->key_bytes += key; s->null_keys += !m->key;
        s->value_bytes += value; s->null_values += !m->value;
        s->headed += pairs > 0; s->headers += pairs; s->name_bytes += names; s->header_bytes += values;
    }
}

typedef struct { /* Arrow's buffers; bitmaps come zeroed, those of headers may be null */
    int64_t *offset, *timestamp, *topic;
    int32_t *partition;
    int32_t *key_at; uint8_t *key, *key_valid;
    int32_t *value_at; uint8_t *value, *value_valid;
    int32_t *header_at; uint8_t *headed;
    int32_t *name_at; uint8_t *name;
    int32_t *header_value_at; uint8_t *header_value, *header_value_valid;
} columns;

static void set(uint8_t *bits, int64_t i) { bits[i >> 3] |= (uint8_t)(1u << (i & 7)); }

static int32_t put(uint8_t *to, int32_t at, const void *data, size_t len) {
    if (len) memcpy(to + at, data, len);
    return at + (int32_t)len;
}

/* Copy measured records to columns, and give them back to librdkafka. */
void kk_fill(const functions *f, message **got, int64_t rows, const columns *c) {
    int32_t key = 0, value = 0, pair = 0, name_end = 0, data_end = 0;
    for (int64_t i = 0; i < rows; i++) {
        message *m = got[i];
        if (i + 8 < rows) __builtin_prefetch(got[i + 8]->value);
        c->offset[i] = m->offset;
        c->partition[i] = m->partition;
        c->topic[i] = (int64_t)(intptr_t)m->topic;
        c->timestamp[i] = f->message_timestamp(m, NULL);
        c->key_at[i] = key;
        c->value_at[i] = value;
        if (m->key) { key = put(c->key, key, m->key, m->key_len); set(c->key_valid, i); }
        if (m->value) { value = put(c->value, value, m->value, m->value_len); set(c->value_valid, i); }
        if (c->header_at) {
            void *headers;
            c->header_at[i] = pair;
            if (f->message_headers(m, &headers) == 0) {
                const char *name; const void *data; size_t len, all = f->header_cnt(headers);
                for (size_t j = 0; j < all && !f->header_get_all(headers, j, &name, &data, &len); j++, pair++) {
                    if (!j) set(c->headed, i);
                    c->name_at[pair] = name_end;
                    c->header_value_at[pair] = data_end;
                    name_end = put(c->name, name_end, name, strlen(name));
                    if (data) { data_end = put(c->header_value, data_end, data, len); set(c->header_value_valid, pair); }
                }
            }
        }
        f->message_destroy(m);
    }
    c->key_at[rows] = key;
    c->value_at[rows] = value;
    if (c->header_at) {
        c->header_at[rows] = pair;
        c->name_at[pair] = name_end;
        c->header_value_at[pair] = data_end;
    }
}

/* Give back records that nobody wants. */
void kk_drop(const functions *f, message **got, int64_t count) {
    for (int64_t i = 0; i < count; i++) f->message_destroy(got[i]);
}

/* ------------------------------------------------------------------ to librdkafka */

typedef struct { /* an Arrow binary column; `at` begins with the slice, bits at `valid_from` */
    const int32_t *at; const uint8_t *data, *valid; int64_t valid_from;
} binary;

typedef struct {
    void **topics; const int32_t *topic, *partition; const int64_t *timestamp;
    binary key, value;
    const int32_t *header_at; binary name, header_value; /* header_at null: no row has headers */
    const char *id_name, *id_prefix; int64_t id_prefix_len, id_first; /* id_prefix null: no ids */
} outgoing;

enum { LONGEST_PREFIX = 1024, DIGITS = 20 };

int64_t kk_longest_prefix(void) { return LONGEST_PREFIX; }

static int is_valid(const binary *b, int64_t i) {
    if (!b->valid) return 1;
    i += b->valid_from;
    return (b->valid[i >> 3] >> (i & 7)) & 1;
}

/* Null is no address; what is empty has one, also in a column without a byte. */
static void set_bytes(argument *to, const binary *b, int64_t i) {
    int valid = is_valid(b, i);
    to->is.mem.ptr = !valid ? NULL : b->data ? (void *)(b->data + b->at[i]) : (void *)"";
    to->is.mem.size = valid ? (size_t)(b->at[i + 1] - b->at[i]) : 0;
}

static int64_t decimal(char *to, int64_t n) {
    char reversed[DIGITS];
    int64_t len = 0;
    do reversed[len++] = (char)('0' + n % 10); while (n /= 10);
    for (int64_t i = 0; i < len; i++) to[i] = reversed[len - 1 - i];
    return len;
}

/* A row's headers, without ids of others, its own id last where it has one; null when there are none,
 * or when `err` says why they cannot be made. */
static void *headers_of(const functions *f, const outgoing *o, int64_t row, char *id, int32_t *err) {
    int32_t from = o->header_at ? o->header_at[row] : 0, to = o->header_at ? o->header_at[row + 1] : 0;
    if (from == to && !o->id_prefix) return NULL;
    size_t id_len = strlen(o->id_name);
    void *headers = f->headers_new((size_t)(to - from + 1));
    if (!headers) *err = NO_MEMORY;
    for (int32_t h = from; h < to && !*err; h++) {
        int32_t len = o->name.at[h + 1] - o->name.at[h];
        const char *name = len ? (const char *)o->name.data + o->name.at[h] : "";
        if ((size_t)len == id_len && !memcmp(name, o->id_name, id_len)) continue;
        argument value;
        set_bytes(&value, &o->header_value, h);
        *err = f->header_add(headers, name, len, value.is.mem.ptr, (intptr_t)value.is.mem.size);
    }
    if (o->id_prefix && !*err) {
        int64_t end = o->id_prefix_len;
        id[end++] = '/';
        end += decimal(id + end, o->id_first + row);
        *err = f->header_add(headers, o->id_name, -1, id, (intptr_t)end);
    }
    if (!*err) return headers;
    if (headers) f->headers_destroy(headers);
    return NULL;
}

/* Queue rows from `first`; returns the first that was not queued, and why in `err` (0: all were). */
int64_t kk_produce(const functions *f, void *producer, const outgoing *o, int64_t first, int64_t end,
                   int32_t *err) {
    argument a[7];
    char id[LONGEST_PREFIX + 1 + DIGITS];
    *err = 0;
    if (o->id_prefix) memcpy(id, o->id_prefix, (size_t)o->id_prefix_len);
    a[0].type = TOPIC_HANDLE; a[1].type = PARTITION; a[2].type = TIMESTAMP; a[3].type = VALUE;
    a[4].type = KEY; a[5].type = FLAGS; a[5].is.i32 = COPY_VALUE; a[6].type = HEADERS;
    for (int64_t i = first; i < end; i++) {
        a[0].is.ptr = o->topics[o->topic ? o->topic[i] : 0];
        a[1].is.i32 = o->partition[i];
        a[2].is.i64 = o->timestamp[i];
        set_bytes(&a[3], &o->value, i);
        set_bytes(&a[4], &o->key, i);
        void *headers = headers_of(f, o, i, id, err);
        if (*err) return i;
        a[6].is.ptr = headers;
        void *refused = f->produceva(producer, a, headers ? 7 : 6);
        if (refused) {
            *err = f->error_code(refused);
            f->error_destroy(refused);
            if (headers) f->headers_destroy(headers); /* they stay ours when it fails */
            return i;
        }
    }
    return end;
}
