/* W1, W2 and Q1 with librdkafka alone, until SIGTERM.
 *
 * Each thread has a consumer of its share of the partitions, and its own counts; all threads have one
 * producer. A thread writes the counts that have changed every second, and at once when it has read all
 * records that there are. After a write it waits for the broker, and commits offsets. The counts are only
 * in memory: after a crash they are lost. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "librdkafka.h"
#include "table.h"

enum { BATCH = 2000, WAIT_MS = 10, COMMIT_MS = 1000, WINDOW_MS = 10000, FLUSH_MS = 30000, MOST_BYTES = 4096 };
enum { MOST_PARTITIONS = 1024, MOST_THREADS = 64 };

static volatile sig_atomic_t stopped;
static atomic_long done;
static rd_kafka_t *producer;
static rd_kafka_topic_t *output;
static const char *bootstrap, *input, *workload;
static int partitions, threads;

static void fail(const char *what, const char *why) {
    fprintf(stderr, "Error: %s: %s\n", what, why);
    exit(1);
}

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value) {
    char error[256];
    if (rd_kafka_conf_set(conf, name, value, error, sizeof error)) fail(name, error);
}

static void write_record(const void *key, size_t key_length, const void *value, size_t length, int64_t time) {
    rd_kafka_vu_t arguments[5] = {
        {ARGUMENT_TOPIC, {.pointer = output}},
        {ARGUMENT_KEY, {.bytes = {(void *)key, key_length}}},
        {ARGUMENT_VALUE, {.bytes = {(void *)value, length}}},
        {ARGUMENT_TIME, {.i64 = time}},
        {ARGUMENT_FLAGS, {.i32 = FLAG_COPY}},
    };
    rd_kafka_error_t *error;
    while ((error = rd_kafka_produceva(producer, arguments, 5))) {
        if (rd_kafka_error_code(error) != QUEUE_FULL) fail("write", rd_kafka_error_string(error));
        rd_kafka_error_destroy(error);
        rd_kafka_poll(producer, WAIT_MS);
    }
}

/* Keys of W1 are those of Kafka Streams: the key, then the start of the window. */
static void write_changed(table *counts, int windowed) {
    char key[MOST_BYTES];
    for (size_t i = 0; i < counts->changed_count; i++) {
        entry *e = &counts->entries[counts->changed[i]];
        uint64_t value = __builtin_bswap64((uint64_t)e->count), start = __builtin_bswap64((uint64_t)e->start);
        size_t length = e->length;
        memcpy(key, e->key, length);
        if (windowed) memcpy(key + length, &start, sizeof start), length += sizeof start;
        write_record(key, length, &value, sizeof value, e->latest);
        e->changed = 0;
    }
    counts->changed_count = 0;
}

/* Write a bid with its price times 0.908, which has three decimals. */
static void write_in_euros(const rd_kafka_message_t *bid, int64_t time) {
    static const char name[] = "\"price\":";
    char text[MOST_BYTES];
    const char *value = bid->payload, *end = value + bid->length, *at = value;
    for (; at + sizeof name <= end && memcmp(at, name, sizeof name - 1); at++) continue;
    at += sizeof name - 1;
    if (at >= end || bid->length + 32 > sizeof text) fail("bid", "it has no price, or is too long");
    int64_t price = 0;
    const char *rest = at;
    for (; rest < end && *rest >= '0' && *rest <= '9'; rest++) price = price * 10 + (*rest - '0');
    price *= 908;
    size_t length = (size_t)(at - value);
    memcpy(text, value, length);
    length += (size_t)snprintf(text + length, 32, "%lld.%03d", (long long)(price / 1000), (int)(price % 1000));
    memcpy(text + length, rest, (size_t)(end - rest));
    write_record(bid->key, bid->key_length, text, length + (size_t)(end - rest), time);
}

/* Wait until the broker has all that was written, then commit offsets. */
static void commit(rd_kafka_t *consumer, rd_kafka_topic_partition_list_t *places, const int64_t *next) {
    int32_t failed = rd_kafka_flush(producer, FLUSH_MS);
    if (failed) fail("flush", rd_kafka_err2str(failed));
    for (int i = 0; i < places->count; i++) {
        int64_t offset = next[places->elements[i].partition];
        places->elements[i].offset = offset ? offset : FROM_BEGINNING;
    }
    rd_kafka_commit(consumer, places, 1);
}

static void *run(void *given) {
    int first = (int)(intptr_t)given, windowed = !strcmp(workload, "W1"), counting = strcmp(workload, "Q1");
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", bootstrap);
    set(conf, "group.id", input);
    set(conf, "enable.auto.commit", "false");
    set(conf, "enable.auto.offset.store", "false");
    set(conf, "fetch.wait.max.ms", "20");
    set(conf, "max.partition.fetch.bytes", "8388608");
    set(conf, "queued.min.messages", "1000000");
    set(conf, "queued.max.messages.kbytes", "131072");
    rd_kafka_t *consumer = rd_kafka_new(TYPE_CONSUMER, conf, error, sizeof error);
    if (!consumer) fail("consumer", error);
    rd_kafka_poll_set_consumer(consumer);
    rd_kafka_topic_partition_list_t *places = rd_kafka_topic_partition_list_new(partitions);
    for (int partition = first; partition < partitions; partition += threads)
        rd_kafka_topic_partition_list_add(places, input, partition)->offset = FROM_BEGINNING;
    int32_t failed = rd_kafka_assign(consumer, places);
    if (failed) fail("assign", rd_kafka_err2str(failed));
    rd_kafka_queue_t *queue = rd_kafka_queue_get_consumer(consumer);
    rd_kafka_message_t *messages[BATCH];
    static int64_t next[MOST_PARTITIONS];
    table counts;
    table_init(&counts);
    int64_t written = now_ms(), committed = written;
    long read = 0;
    int uncommitted = 0;
    while (!stopped) {
        ssize_t got = rd_kafka_consume_batch_queue(queue, WAIT_MS, messages, BATCH);
        for (ssize_t i = 0; i < got; i++) {
            rd_kafka_message_t *m = messages[i];
            if (i + 8 < got) __builtin_prefetch(messages[i + 8]);
            if (m->err) fail("read", rd_kafka_err2str(m->err));
            int64_t time = rd_kafka_message_timestamp(m, NULL);
            if (m->key_length + 8 > MOST_BYTES) fail("read", "a key is too long");
            if (counting) table_count(&counts, m->key, m->key_length, windowed ? time - time % WINDOW_MS : 0, time);
            else write_in_euros(m, time);
            next[m->partition] = m->offset + 1;
            read++;
            rd_kafka_message_destroy(m);
        }
        rd_kafka_poll(producer, 0);
        int64_t now = now_ms();
        if (read && (got < BATCH || now - written >= COMMIT_MS)) {
            write_changed(&counts, windowed);
            atomic_fetch_add(&done, read);
            read = 0, written = now, uncommitted = 1;
        }
        if (uncommitted && now - committed >= COMMIT_MS) {
            commit(consumer, places, next);
            committed = now, uncommitted = 0;
        }
    }
    rd_kafka_flush(producer, FLUSH_MS);
    return NULL;
}

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

static const char *given(const char *name) {
    const char *value = getenv(name);
    if (!value) fail(name, "it is not set");
    return value;
}

int main(void) {
    bootstrap = given("BENCH_BOOTSTRAP"), input = given("BENCH_INPUT"), workload = given("BENCH_WORKLOAD");
    partitions = atoi(given("BENCH_PARTITIONS")), threads = atoi(given("BENCH_THREADS"));
    if (partitions > MOST_PARTITIONS || threads > MOST_THREADS) fail("start", "too many partitions or threads");
    signal(SIGTERM, stop);
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", bootstrap);
    set(conf, "acks", "all");
    set(conf, "linger.ms", "5");
    set(conf, "batch.size", "1000000");
    set(conf, "queue.buffering.max.messages", "1000000");
    producer = rd_kafka_new(TYPE_PRODUCER, conf, error, sizeof error);
    if (!producer) fail("producer", error);
    output = rd_kafka_topic_new(producer, given("BENCH_OUTPUT"), NULL);
    pthread_t running[MOST_THREADS];
    for (int i = 0; i < threads; i++)
        if (pthread_create(&running[i], NULL, run, (void *)(intptr_t)i)) fail("thread", "it cannot start");
    for (long told = 0; !stopped;) {
        struct timespec pause = {0, 20000000};
        nanosleep(&pause, NULL);
        long now = atomic_load(&done);
        if (now > told) printf("progress %ld\n", now), fflush(stdout), told = now;
    }
    for (int i = 0; i < threads; i++) pthread_join(running[i], NULL);
    return 0;
}
