// A parser of b-tree pages, with the checks of SQLite's quick_check, and a tally of their records. In C, because
// Swift's bounds checks made the loop over cells and columns several times slower.
//
// Offsets and lengths come from a file that may be damaged, so each is checked against its bounds before its use.
#ifndef FERRY_PAGES_H
#define FERRY_PAGES_H

#include <stdint.h>

/// A cell with links to other pages.
typedef struct {
    /// In an interior cell of a table: the highest key in its child.
    int64_t key;
    /// 0 on a leaf.
    uint32_t child;
    /// The first overflow page; 0 without overflow.
    uint32_t overflow;
    uint32_t overflow_pages;
} ferry_link;

typedef struct {
    int32_t is_table, is_leaf;
    uint32_t cells;
    /// The number of links.
    uint32_t links;
    /// The right-most child of an interior page.
    uint32_t right_child;
    /// The first and the last key of a leaf of a table.
    int64_t first, last;
    /// The longest row of a leaf of a table: its bytes and its key.
    uint64_t most_bytes;
    int64_t most_key;
} ferry_page;

/// SQLite's default limit of columns.
enum { FERRY_TALLY_COLUMNS = 2000 };

/// The role of a column in a tally, besides the count of NULLs.
enum { FERRY_GROUP = 1, FERRY_KEY = 2 };

/// The least and the greatest integer in a column, and whether it has values besides integers and NULL.
typedef struct {
    int32_t has_others;
    /// Without integers the least is above the greatest.
    int64_t least, greatest;
} ferry_keys;

/// Counts of rows and NULLs, by the integer in one column.
typedef struct {
    /// The group column; if it is negative, all rows are in group 0.
    int32_t group;
    int32_t columns;
    /// One per column.
    unsigned char *roles;
    ferry_keys *keys;
    int32_t capacity, count, latest;
    /// Set if a row could not be counted.
    int32_t is_lost;
    int64_t *values, *rows;
    /// One number per group and column.
    int64_t *nulls;
} ferry_tally;

static inline uint32_t ferry_four(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/// Parses a page.
///
/// - page: its bytes.
/// - start: the offset of its header: 100 on the first page of a file.
/// - usable: bytes of it that the b-tree may use, 480 to 65,536.
/// - tally: counts the records of a leaf of a table, or null.
/// - links: memory for a link per cell, at most `usable / 6`.
///
/// Returns whether the page is sound. After 0, SQLite must decide.
int ferry_page_parse(
    const unsigned char *page, uint32_t start, uint32_t usable, ferry_tally *tally, ferry_page *result,
    ferry_link *links);

#endif
