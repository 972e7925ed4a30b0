/* A hash table of counts by key and window start, with a list of the counts that have changed. */
#ifndef TABLE_H
#define TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char *key;
    uint32_t length, hash;
    int64_t start, count, latest;
    int changed;
} entry;

typedef struct {
    entry *entries;
    size_t capacity, used;
    uint32_t *slots; /* the number of an entry + 1; 0: free */
    size_t slot_count;
    uint32_t *changed;
    size_t changed_count;
} table;

static void *allocated(void *memory) {
    if (!memory) abort();
    return memory;
}

static uint32_t hash_of(const char *key, size_t length, int64_t start) {
    uint64_t hash = 0xcbf29ce484222325ULL ^ (uint64_t)start * 0x9e3779b97f4a7c15ULL;
    for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3ULL;
    return (uint32_t)(hash ^ hash >> 32);
}

static void table_init(table *t) {
    memset(t, 0, sizeof *t);
    t->capacity = 1 << 16, t->slot_count = 1 << 18;
    t->entries = allocated(malloc(t->capacity * sizeof(entry)));
    t->changed = allocated(malloc(t->capacity * sizeof(uint32_t)));
    t->slots = allocated(calloc(t->slot_count, sizeof(uint32_t)));
}

static size_t free_slot(const table *t, uint32_t hash) {
    size_t slot = hash & (t->slot_count - 1);
    while (t->slots[slot]) slot = (slot + 1) & (t->slot_count - 1);
    return slot;
}

static void table_grow(table *t) {
    t->capacity *= 2;
    t->entries = allocated(realloc(t->entries, t->capacity * sizeof(entry)));
    t->changed = allocated(realloc(t->changed, t->capacity * sizeof(uint32_t)));
    if (t->capacity * 2 <= t->slot_count) return;
    free(t->slots);
    t->slot_count *= 4;
    t->slots = allocated(calloc(t->slot_count, sizeof(uint32_t)));
    for (size_t i = 0; i < t->used; i++) t->slots[free_slot(t, t->entries[i].hash)] = (uint32_t)i + 1;
}

/* Add one to the count of a key in the window that begins at `start`. */
static void table_count(table *t, const char *key, size_t length, int64_t start, int64_t time) {
    uint32_t hash = hash_of(key, length, start);
    entry *found = NULL;
    for (size_t slot = hash & (t->slot_count - 1); t->slots[slot]; slot = (slot + 1) & (t->slot_count - 1)) {
        entry *e = &t->entries[t->slots[slot] - 1];
        if (e->hash == hash && e->start == start && e->length == length && !memcmp(e->key, key, length)) {
            found = e;
            break;
        }
    }
    if (!found) {
        if (t->used == t->capacity) table_grow(t);
        found = &t->entries[t->used];
        t->slots[free_slot(t, hash)] = (uint32_t)++t->used;
        *found = (entry){allocated(malloc(length + 1)), (uint32_t)length, hash, start, 0, 0, 0};
        memcpy(found->key, key, length);
    }
    found->count++;
    if (time > found->latest) found->latest = time;
    if (!found->changed) {
        found->changed = 1;
        t->changed[t->changed_count++] = (uint32_t)(found - t->entries);
    }
}

#endif
