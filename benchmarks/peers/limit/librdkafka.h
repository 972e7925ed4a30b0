/* The part of librdkafka's public interface that limit.c uses. The wheel of the Kafka client for
 * Python contains the library without its header; these types are stable across its versions. */
#ifndef LIBRDKAFKA_H
#define LIBRDKAFKA_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_error_s rd_kafka_error_t;

typedef struct {
    int32_t err;
    rd_kafka_topic_t *topic;
    int32_t partition;
    void *payload;
    size_t length;
    void *key;
    size_t key_length;
    int64_t offset;
    void *private_data;
} rd_kafka_message_t;

typedef struct {
    char *topic;
    int32_t partition;
    int64_t offset;
    void *metadata;
    size_t metadata_size;
    void *opaque;
    int32_t err;
    void *private_data;
} rd_kafka_topic_partition_t;

typedef struct {
    int count;
    int size;
    rd_kafka_topic_partition_t *elements;
} rd_kafka_topic_partition_list_t;

typedef struct {
    int32_t type;
    union {
        void *pointer;
        int32_t i32;
        int64_t i64;
        struct {
            void *data;
            size_t length;
        } bytes;
        char padding[64];
    } is;
} rd_kafka_vu_t;

enum { ARGUMENT_TOPIC = 2, ARGUMENT_VALUE = 4, ARGUMENT_KEY = 5, ARGUMENT_FLAGS = 7, ARGUMENT_TIME = 8 };
enum { TYPE_PRODUCER = 0, TYPE_CONSUMER = 1 };
enum { FLAG_COPY = 2 };
enum { QUEUE_FULL = -184, FROM_BEGINNING = -2 };

rd_kafka_conf_t *rd_kafka_conf_new(void);
int rd_kafka_conf_set(rd_kafka_conf_t *, const char *name, const char *value, char *error, size_t size);
rd_kafka_t *rd_kafka_new(int type, rd_kafka_conf_t *, char *error, size_t size);
int32_t rd_kafka_poll_set_consumer(rd_kafka_t *);
int rd_kafka_poll(rd_kafka_t *, int timeout_ms);
int32_t rd_kafka_flush(rd_kafka_t *, int timeout_ms);
rd_kafka_topic_t *rd_kafka_topic_new(rd_kafka_t *, const char *name, void *conf);
rd_kafka_topic_partition_list_t *rd_kafka_topic_partition_list_new(int size);
rd_kafka_topic_partition_t *rd_kafka_topic_partition_list_add(rd_kafka_topic_partition_list_t *,
                                                             const char *topic, int32_t partition);
int32_t rd_kafka_assign(rd_kafka_t *, const rd_kafka_topic_partition_list_t *);
int32_t rd_kafka_commit(rd_kafka_t *, const rd_kafka_topic_partition_list_t *, int is_async);
rd_kafka_queue_t *rd_kafka_queue_get_consumer(rd_kafka_t *);
ssize_t rd_kafka_consume_batch_queue(rd_kafka_queue_t *, int timeout_ms, rd_kafka_message_t **, size_t most);
int64_t rd_kafka_message_timestamp(const rd_kafka_message_t *, int *type);
void rd_kafka_message_destroy(rd_kafka_message_t *);
rd_kafka_error_t *rd_kafka_produceva(rd_kafka_t *, const rd_kafka_vu_t *arguments, size_t count);
int32_t rd_kafka_error_code(const rd_kafka_error_t *);
const char *rd_kafka_error_string(const rd_kafka_error_t *);
void rd_kafka_error_destroy(rd_kafka_error_t *);
const char *rd_kafka_err2str(int32_t);

#endif
