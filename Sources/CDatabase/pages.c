#include "pages.h"

#include <string.h>

static uint32_t ferry_two(const unsigned char *bytes) { return (uint32_t)bytes[0] << 8 | bytes[1]; }

/// Returns the end of a varint of any length; NULL if it does not end before `end`.
static const unsigned char *ferry_long_varint(
    const unsigned char *bytes, const unsigned char *end, uint64_t *value) {
    uint64_t sum = 0;
    for (int index = 0; index < 8; index++) {
        if (bytes >= end) return 0;
        unsigned char byte = *bytes++;
        sum = sum << 7 | (byte & 0x7f);
        if (byte < 0x80) {
            *value = sum;
            return bytes;
        }
    }
    if (bytes >= end) return 0;
    *value = sum << 8 | *bytes;
    return bytes + 1;
}

/// Returns the end of a varint; NULL if it does not end before `end`. Nearly all have one byte or two.
static inline const unsigned char *ferry_varint(
    const unsigned char *bytes, const unsigned char *end, uint64_t *value) {
    if (end - bytes >= 2) {
        if (bytes[0] < 0x80) {
            *value = bytes[0];
            return bytes + 1;
        }
        if (bytes[1] < 0x80) {
            *value = (uint64_t)(bytes[0] & 0x7f) << 7 | bytes[1];
            return bytes + 2;
        }
    }
    return ferry_long_varint(bytes, end, value);
}

/// Returns the bytes of a value in a record. The reserved types 10 and 11 occur in no file and fit into no record.
static inline uint64_t ferry_value_size(uint64_t type) {
    // More than a record has, and less than would overflow in a sum over the columns of a header.
    static const uint64_t none = (uint64_t)1 << 40, sizes[12] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, none, none};
    return type < 12 ? sizes[type] : (type - 12) / 2;
}

/// Reads the next type of a header that is not at its end, and adds the value's bytes to the size.
///
/// Returns NULL if the header ends within the type, or if the value does not fit into the payload. Types of one byte
/// cannot make the sum overflow; whether they fit, the sum of all shows.
static inline const unsigned char *ferry_next_type(
    const unsigned char *place, const unsigned char *end, uint64_t payload, uint64_t *type, uint64_t *size) {
    *type = *place;
    if (*type < 0x80) {
        *size += ferry_value_size(*type);
        return place + 1;
    }
    if (!(place = ferry_varint(place, end, type))) return 0;
    *size += ferry_value_size(*type);
    return *size > payload ? 0 : place;
}

/// Reads the integer of a value; returns 0 for other types.
static int ferry_integer(const unsigned char *bytes, uint64_t type, int64_t *value) {
    if (type == 8 || type == 9) {
        *value = type == 9;
        return 1;
    }
    if (type < 1 || type > 6) return 0;
    uint64_t sum = bytes[0] & 0x80 ? ~(uint64_t)0 : 0;
    for (uint64_t index = 0; index < ferry_value_size(type); index++) sum = sum << 8 | bytes[index];
    *value = (int64_t)sum;
    return 1;
}

/// Returns the group of a value; -1 if all groups are used.
static int32_t ferry_tally_group(ferry_tally *tally, int64_t value) {
    if (tally->latest < tally->count && tally->values[tally->latest] == value) return tally->latest;
    int32_t group = 0;
    while (group < tally->count && tally->values[group] != value) group++;
    if (group == tally->count) {
        if (group == tally->capacity) return -1;
        tally->values[group] = value;
        tally->rows[group] = 0;
        memset(tally->nulls + (size_t)group * (size_t)tally->columns, 0, (size_t)tally->columns * sizeof(int64_t));
        tally->count++;
    }
    tally->latest = group;
    return group;
}

static void ferry_note_key(ferry_keys *keys, int is_integer, int64_t value) {
    if (!is_integer) {
        keys->has_others = 1;
        return;
    }
    if (value < keys->least) keys->least = value;
    if (value > keys->greatest) keys->greatest = value;
}

/// Returns whether a record's header fits its length, and counts its columns in the tally, if any.
///
/// The header must lie in the `local` bytes; otherwise the result is 0.
static int ferry_record(const unsigned char *record, uint64_t local, uint64_t payload, ferry_tally *tally) {
    const unsigned char *end = record + local;
    uint64_t header;
    const unsigned char *place = ferry_varint(record, end, &header);
    if (!place || header > local || header < (uint64_t)(place - record)) return 0;
    end = record + header;
    uint64_t size = header, type;
    if (!tally) {
        while (place < end) {
            if (!(place = ferry_next_type(place, end, payload, &type, &size))) return 0;
        }
        return size == payload;
    }
    // Few columns of a row are NULL: a list of them is cheaper than a sum over all columns.
    uint16_t empty[FERRY_TALLY_COLUMNS];
    const unsigned char *roles = tally->roles;
    int32_t column = 0, columns = tally->columns, nulls = 0, group = -1;
    if (tally->group < 0) group = ferry_tally_group(tally, 0);
    for (; place < end; column++) {
        uint64_t start = size;
        if (!(place = ferry_next_type(place, end, payload, &type, &size))) return 0;
        if (column >= columns) continue;
        empty[nulls] = (uint16_t)column;
        nulls += type == 0;
        if (!roles[column] || type == 0) continue;
        int64_t value = 0;
        int is_integer = size <= local && ferry_integer(record + start, type, &value);
        if (roles[column] & FERRY_GROUP && is_integer) group = ferry_tally_group(tally, value);
        if (roles[column] & FERRY_KEY) ferry_note_key(&tally->keys[column], is_integer, value);
    }
    if (size != payload) return 0;
    if (group < 0) {
        tally->is_lost = 1;
        return 1;
    }
    tally->rows[group]++;
    int64_t *counts = tally->nulls + (size_t)group * (size_t)columns;
    for (int32_t index = 0; index < nulls; index++) counts[empty[index]]++;
    // Columns that were added after the write of the row.
    for (; column < columns; column++) counts[column]++;
    return 1;
}

/// Marks bytes as used; 0 if one of them is used already.
static int ferry_cover(uint64_t *map, uint32_t from, uint32_t to) {
    while (from < to) {
        uint32_t bit = from & 63, count = 64 - bit;
        if (count > to - from) count = to - from;
        uint64_t mask = count == 64 ? ~(uint64_t)0 : (((uint64_t)1 << count) - 1) << bit;
        if (map[from >> 6] & mask) return 0;
        map[from >> 6] |= mask;
        from += count;
    }
    return 1;
}

int ferry_page_parse(
    const unsigned char *page, uint32_t start, uint32_t usable, ferry_tally *tally, ferry_page *result,
    ferry_link *links) {
    uint64_t map[65536 / 64];
    int has_map = 0;
    const unsigned char *header = page + start, *limit = page + usable;
    int kind = header[0];
    if (kind != 2 && kind != 5 && kind != 10 && kind != 13) return 0;
    int is_table = kind == 5 || kind == 13, is_leaf = kind >= 10;
    uint32_t cells = ferry_two(header + 3), top = ferry_two(header + 5);
    if (top == 0) top = 65536;
    uint32_t pointers = start + (is_leaf ? 8 : 12);
    if (cells > usable / 6 || top > usable || top < pointers + 2 * cells) return 0;
    *result = (ferry_page){.is_table = is_table, .is_leaf = is_leaf, .cells = cells};
    if (!is_leaf) result->right_child = ferry_four(header + 8);

    uint64_t least = ((uint64_t)usable - 12) * 32 / 255 - 23;
    uint64_t most = is_table ? usable - 35 : ((uint64_t)usable - 12) * 64 / 255 - 23;
    // Consecutive cells from the page's end on, as without deletions, need no map.
    uint32_t low = usable, highest = 0, covered = 0;
    int64_t last = 0;
    for (uint32_t index = 0; index < cells; index++) {
        uint32_t place = ferry_two(page + pointers + 2 * index);
        if (place < top || place > usable - 4) return 0;
        const unsigned char *cell = page + place, *body = cell;
        ferry_link link = {0};
        if (!is_leaf) {
            link.child = ferry_four(cell);
            body += 4;
        }
        uint64_t payload = 0, key = 0, local = 0;
        if (!(is_table && !is_leaf)) {
            if (!(body = ferry_varint(body, limit, &payload)) || payload > 0xffffffff) return 0;
        }
        if (is_table && !(body = ferry_varint(body, limit, &key))) return 0;
        uint64_t size = (uint64_t)(body - cell);
        if (!(is_table && !is_leaf)) {
            local = payload;
            if (payload > most) {
                uint64_t surplus = least + (payload - least) % (usable - 4);
                local = surplus <= most ? surplus : least;
            }
            size += local + (local < payload ? 4 : 0);
        }
        if (size < 4) size = 4;
        if (place + size > usable) return 0;
        if (local < payload) {
            link.overflow = ferry_four(body + local);
            link.overflow_pages = (uint32_t)((payload - local + usable - 5) / (usable - 4));
            if (link.overflow == 0) return 0;
        }
        if (is_table) {
            if (index > 0 && (int64_t)key <= last) return 0;
            last = (int64_t)key;
            if (index == 0) result->first = last;
            link.key = last;
            if (is_leaf && payload > result->most_bytes) {
                result->most_bytes = payload;
                result->most_key = last;
            }
            if (is_leaf && !ferry_record(body, local, payload, tally)) return 0;
        }
        if (link.child || link.overflow) links[result->links++] = link;
        if (!is_leaf && !link.child) return 0;

        uint32_t behind = place + (uint32_t)size;
        covered += (uint32_t)size;
        if (behind == low) {
            low = place;
            continue;
        }
        if (!has_map) {
            memset(map, 0, (usable + 63) / 64 * sizeof map[0]);
            has_map = 1;
        }
        if (!ferry_cover(map, place, behind)) return 0;
        if (behind > highest) highest = behind;
    }
    result->last = last;
    for (uint32_t block = ferry_two(header + 1), before = 0; block != 0;) {
        if (block < top || block > usable - 4 || (before != 0 && block < before + 4)) return 0;
        uint32_t size = ferry_two(page + block + 2);
        if (size < 4 || block + size > usable) return 0;
        if (!has_map) {
            memset(map, 0, (usable + 63) / 64 * sizeof map[0]);
            has_map = 1;
        }
        if (!ferry_cover(map, block, block + size)) return 0;
        covered += size;
        before = block + size;
        if (before > highest) highest = before;
        block = ferry_two(page + block);
    }
    return highest <= low && usable - top == covered + header[7];
}
