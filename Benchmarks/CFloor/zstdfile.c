#include "cfloor.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef FERRY_ZSTANDARD
#include <zstd.h>

// Both directions use whole buffers of the sizes that the library recommends and no sync, as the tool does.

typedef struct {
    FILE *input, *output;
    void *in, *out;
    size_t in_size, out_size;
} Pipe;

static bool pipe_open(Pipe *pipe, const char *input, const char *output, size_t in_size, size_t out_size) {
    pipe->in_size = in_size;
    pipe->out_size = out_size;
    pipe->input = fopen(input, "rb");
    pipe->output = fopen(output, "wb");
    pipe->in = malloc(in_size);
    pipe->out = malloc(out_size);
    return pipe->input && pipe->output && pipe->in && pipe->out;
}

static bool pipe_close(Pipe *pipe) {
    bool whole = pipe->input && !ferror(pipe->input);
    if (pipe->input) fclose(pipe->input);
    if (!pipe->output || fclose(pipe->output) != 0) whole = false;
    free(pipe->in);
    free(pipe->out);
    return whole;
}

bool cfloor_compress(const char *input, const char *output, int level, int workers) {
    Pipe pipe;
    bool works = pipe_open(&pipe, input, output, ZSTD_CStreamInSize(), ZSTD_CStreamOutSize());
    ZSTD_CCtx *context = ZSTD_createCCtx();
    works = works && context && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level))
            && !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1));
    // A library built without threads refuses workers and then compresses on this thread.
    if (works) (void)ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, workers);
    bool done = false;
    while (works && !done) {
        const size_t count = fread(pipe.in, 1, pipe.in_size, pipe.input);
        const bool last = count < pipe.in_size;
        ZSTD_inBuffer from = {pipe.in, count, 0};
        bool flushed = false;
        while (works && !flushed) {
            ZSTD_outBuffer to = {pipe.out, pipe.out_size, 0};
            const size_t rest = ZSTD_compressStream2(context, &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
            works = !ZSTD_isError(rest) && fwrite(pipe.out, 1, to.pos, pipe.output) == to.pos;
            flushed = last ? rest == 0 : from.pos == from.size;
        }
        done = last;
    }
    ZSTD_freeCCtx(context);
    return pipe_close(&pipe) && works;
}

bool cfloor_decompress(const char *input, const char *output) {
    Pipe pipe;
    bool works = pipe_open(&pipe, input, output, ZSTD_DStreamInSize(), ZSTD_DStreamOutSize());
    ZSTD_DCtx *context = ZSTD_createDCtx();
    works = works && context;
    size_t rest = 0, count;
    while (works && (count = fread(pipe.in, 1, pipe.in_size, pipe.input)) > 0) {
        ZSTD_inBuffer from = {pipe.in, count, 0};
        while (works && from.pos < from.size) {
            ZSTD_outBuffer to = {pipe.out, pipe.out_size, 0};
            rest = ZSTD_decompressStream(context, &to, &from);
            works = !ZSTD_isError(rest) && fwrite(pipe.out, 1, to.pos, pipe.output) == to.pos;
        }
    }
    ZSTD_freeDCtx(context);
    return pipe_close(&pipe) && works && rest == 0;
}
#else
// A build without the trait has no library to compress with; callers still run the tool where it is installed.
bool cfloor_compress(const char *input, const char *output, int level, int workers) {
    (void)input, (void)output, (void)level, (void)workers;
    return false;
}

bool cfloor_decompress(const char *input, const char *output) {
    (void)input, (void)output;
    return false;
}
#endif
