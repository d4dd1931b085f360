// zlib for Swift: `inflateInit2` and `deflateInit2` are macros, which the importer cannot see.
#ifndef FERRY_CZLIB_SHIM_H
#define FERRY_CZLIB_SHIM_H

#include <zlib.h>

/// Starts inflating raw DEFLATE data (`inflateInit2` with negative window bits).
static inline int ferry_inflate_init_raw(z_stream *stream) { return inflateInit2(stream, -MAX_WBITS); }

/// Starts deflating to raw DEFLATE data (`deflateInit2` with negative window bits).
static inline int ferry_deflate_init_raw(z_stream *stream) {
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}

/// Starts deflating to a gzip file of one member or more (`deflateInit2` with 16 more window bits).
static inline int ferry_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}

/// Starts inflating a member of a gzip file, whose checksum zlib checks (`inflateInit2` with 16 more window bits).
static inline int ferry_inflate_init_gzip(z_stream *stream) { return inflateInit2(stream, MAX_WBITS + 16); }

#endif
