/* Steps of Bayesian gradient descent, and products of a few rows with a matrix. What and why is said in
   noisy_weights.py and compiled.py, where the same is done in torch as well: the results must be equal.

   A matrix of weights is worked through in tiles of 64 rows and 32 columns, all passes for each tile, so that a tile
   stays in the first cache from its noise to the move of its weights. Noise is drawn twice, forward and backward: memory
   would take longer to give it back. Columns are filled up with zeros to whole vectors, samples to whole tens. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __AVX512F__
#include <immintrin.h>
enum { AT_ONCE = 10 }; /* samples whose sums are kept in registers */
#else
enum { AT_ONCE = 5 };
#endif

enum { LANES = 16, TEN = 10, ROWS = 64, DEGREE = 5 };
typedef float V __attribute__((vector_size(64)));
typedef uint32_t U __attribute__((vector_size(64)));
typedef int32_t I __attribute__((vector_size(64)));
#define INLINE static inline __attribute__((always_inline))
#define EACH(i, count) for (long i = 0; i < (count); i++)

INLINE long least(long a, long b) { return a < b ? a : b; }
INLINE long even(long count) { return count + (count & 1); }

/* ---- normal numbers */

/* Row d: coefficients of m^d, a column for each octave of the probability; see `table` in compiled.py. */
static float INVERSE[DEGREE + 1][32] __attribute__((aligned(64)));

void use_table(const float *table) { memcpy(INVERSE, table, sizeof INVERSE); }

/* The finaliser of SplitMix64 (Steele et al., 2014): a one-to-one function that scatters 64 bits. */
INLINE uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* 32 generators xoshiro128++ (Blackman and Vigna, 2021) that advance together. */
typedef struct {
    U word[4][2];
} Streams;

static void seed(Streams *streams, uint64_t key, uint64_t step, uint64_t call) {
    const uint64_t golden = 0x9E3779B97F4A7C15u;
    uint64_t z = mixed(mixed(key + golden * step) + golden * call), all[4 * LANES];
    EACH(i, 4 * LANES) all[i] = mixed(z + golden * (i + 1));
    memcpy(streams, all, sizeof all);
}

#define ROTATED(x, by) ((x) << (by) | (x) >> (32 - (by)))

INLINE U advance(U *a, U *b, U *c, U *d) {
    U sum = *a + *d, word = ROTATED(sum, 7) + *a, shifted = *b << 9;
    *c ^= *a;
    *d ^= *b;
    *b ^= *c;
    *a ^= *d;
    *c ^= shifted;
    *d = ROTATED(*d, 11);
    return word;
}

/* Of all normal numbers, a share p = |word| / 2^32, the word with a sign, are larger than this one, its sign apart. */
INLINE V normal(U word) {
    V p = __builtin_convertvector((I)word, V), z;
    U column = (U)p >> 23; /* the octave of p, from the exponent; only the last five bits count */
#ifdef __AVX512F__
    V m = (V)_mm512_getmant_ps((__m512)p, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
#define COEFFICIENT(d) \
    (V) _mm512_permutex2var_ps(_mm512_load_ps(INVERSE[d]), (__m512i)column, _mm512_load_ps(INVERSE[d] + LANES))
    z = COEFFICIENT(DEGREE);
#pragma GCC unroll 8
    for (int d = DEGREE - 1; d >= 0; d--) z = z * m + COEFFICIENT(d);
#else
    V m = (V)(((U)p & 0x7FFFFF) | 0x3F800000);
    EACH(i, LANES) {
        float value = INVERSE[DEGREE][column[i] & 31];
        for (int d = DEGREE - 1; d >= 0; d--) value = value * m[i] + INVERSE[d][column[i] & 31];
        z[i] = value;
    }
#endif
    return (V)((U)z ^ (word & 0x80000000u));
}

/* The next normal numbers of the streams, an even count of vectors; with a mean, also w = mean + std * noise. */
INLINE void draw(Streams *streams, long count, V *noise, const V *mean, const V *std, V *w) {
    Streams s = *streams;
    for (long v = 0; v < count; v += 2) {
#pragma GCC unroll 2
        for (int i = 0; i < 2; i++) {
            V z = normal(advance(&s.word[0][i], &s.word[1][i], &s.word[2][i], &s.word[3][i]));
            if (noise) noise[v + i] = z;
            if (w) w[v + i] = mean[v + i] + std[v + i] * z;
        }
    }
    *streams = s;
}

/* For tests: the numbers of given words, and of the streams of one call. */
void normals_of(const uint32_t *words, float *out, long vectors) {
    EACH(v, vectors) {
        U word;
        memcpy(&word, words + v * LANES, sizeof word);
        V z = normal(word);
        memcpy(out + v * LANES, &z, sizeof z);
    }
}

void normals(float *out, long vectors, uint64_t key, uint64_t step, uint64_t call) {
    Streams streams;
    V pair[2];
    seed(&streams, key, step, call);
    for (long v = 0; v < vectors; v += 2, out += 2 * LANES) {
        draw(&streams, 2, pair, 0, 0, 0);
        memcpy(out, pair, sizeof pair);
    }
}

/* ---- products of a tile; `across` vectors side by side, rows of other matrices so many vectors apart as is said */

/* Sixteen numbers, or the first few and zeros. */
INLINE V some(const float *from, long count) {
    V all = {0};
    if (count >= LANES)
        memcpy(&all, from, sizeof all);
    else
#ifdef __AVX512F__
        all = (V)_mm512_maskz_loadu_ps((1u << count) - 1, from);
#else
        memcpy(&all, from, count * sizeof(float));
#endif
    return all;
}

INLINE void put(float *to, V all, long count) {
    if (count >= LANES)
        memcpy(to, &all, sizeof all);
    else
#ifdef __AVX512F__
        _mm512_mask_storeu_ps(to, (1u << count) - 1, (__m512)all);
#else
        memcpy(to, &all, count * sizeof(float));
#endif
}

/* out[n] = (keep ? out[n] : 0) + factor * sum over rows of x[row][n] w[row], for the first `count` of n = 0 .. few - 1.
   Of w one vector or two of each row are read, and so many columns of out are written. ahead: what is fetched early. */
INLINE void product(const float *x, const float *w, long w_apart, float *out, long apart, long rows, long columns,
                    const int across, const int few, const int count, const int keep, const float factor,
                    const long ahead) {
    for (int first = 0; first < few; first += AT_ONCE) {
        V sum[AT_ONCE][2] = {{{0}}};
        EACH(row, rows) {
            V w_row[2];
#pragma GCC unroll 2
            for (int v = 0; v < across; v++) {
                memcpy(w_row + v, w + row * w_apart + v * LANES, sizeof(V));
                __builtin_prefetch(w + row * w_apart + v * LANES + ahead, 0, 2);
            }
#pragma GCC unroll 10
            for (int n = 0; n < AT_ONCE && n < few; n++)
#pragma GCC unroll 2
                for (int v = 0; v < across; v++) sum[n][v] += x[row * LANES + first + n] * w_row[v];
        }
#pragma GCC unroll 10
        for (int n = 0; n < AT_ONCE && n < few; n++)
#pragma GCC unroll 2
            for (int v = 0; v < across; v++) {
                float *to = out + (first + n) * apart + v * LANES;
                long here = v + 1 < across ? LANES : columns - v * LANES;
                if (first + n < count) put(to, keep ? some(to, here) + factor * sum[n][v] : factor * sum[n][v], here);
            }
    }
}

/* With g[row] = sum over n of x[row][n] delta[n]:  total += g,  total_noise += g * noise. */
INLINE void gradients(const float *x, const V *delta, long apart, V *total, const V *noise, V *total_noise, long rows,
                      const int across) {
    V d[TEN][2];
#pragma GCC unroll 10
    for (int n = 0; n < TEN; n++)
#pragma GCC unroll 2
        for (int v = 0; v < across; v++) d[n][v] = delta[n * apart + v];
    EACH(row, rows) {
        V g[2];
#pragma GCC unroll 2
        for (int v = 0; v < across; v++) g[v] = x[row * LANES] * d[0][v];
#pragma GCC unroll 10
        for (int n = 1; n < TEN; n++)
#pragma GCC unroll 2
            for (int v = 0; v < across; v++) g[v] += x[row * LANES + n] * d[n][v];
#pragma GCC unroll 2
        for (int v = 0; v < across; v++) {
            if (total) total[row * across + v] += g[v];
            if (noise) total_noise[row * across + v] += g[v] * noise[row * across + v];
        }
    }
}

/* out[j] lane i = in[i * in_apart + j]: so many rows and columns, at most 16 each, and zeros around them. */
INLINE void transposed(const float *in, long in_apart, long rows, long columns, V *out, long out_apart) {
#ifdef __AVX512F__
    __m512 a[16], b[16];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) a[i] = i < rows ? (__m512)some(in + i * in_apart, columns) : _mm512_setzero_ps();
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        b[2 * i] = _mm512_unpacklo_ps(a[2 * i], a[2 * i + 1]);
        b[2 * i + 1] = _mm512_unpackhi_ps(a[2 * i], a[2 * i + 1]);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        int at = i / 2 * 4 + i % 2;
        __m512d x = (__m512d)b[at], y = (__m512d)b[at + 2];
        a[i / 2 * 4 + i % 2 * 2] = (__m512)_mm512_unpacklo_pd(x, y);
        a[i / 2 * 4 + i % 2 * 2 + 1] = (__m512)_mm512_unpackhi_pd(x, y);
    }
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
        __m512 x = _mm512_shuffle_f32x4(a[j], a[4 + j], 0x88), y = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0x88);
        __m512 z = _mm512_shuffle_f32x4(a[j], a[4 + j], 0xDD), w = _mm512_shuffle_f32x4(a[8 + j], a[12 + j], 0xDD);
        out[j * out_apart] = (V)_mm512_shuffle_f32x4(x, y, 0x88);
        out[(4 + j) * out_apart] = (V)_mm512_shuffle_f32x4(z, w, 0x88);
        out[(8 + j) * out_apart] = (V)_mm512_shuffle_f32x4(x, y, 0xDD);
        out[(12 + j) * out_apart] = (V)_mm512_shuffle_f32x4(z, w, 0xDD);
    }
#else
    EACH(j, LANES) EACH(i, LANES) out[j * out_apart][i] = i < rows && j < columns ? in[i * in_apart + j] : 0;
#endif
}

/* The step of BGD, `_move` in noisy_weights.py, for so many vectors. */
static void move(V *mean, V *std, const V *gradient, const V *gradient_noise, long vectors, float rate) {
    float *m = (float *)mean, *s = (float *)std;
    const float *g = (const float *)gradient, *gn = (const float *)gradient_noise;
    EACH(i, vectors * LANES) {
        float half = 0.5f * s[i] * gn[i];
        m[i] -= rate * s[i] * s[i] * g[i];
        s[i] *= sqrtf(1 + half * half) - half;
    }
}

/* ---- a layer */

typedef struct {
    /* Of the weights: [rows, width], and [width] for the bias. */
    float *mean, *std, *bias, *bias_std;
    long width, vectors;
    /* Inputs that differ within the batch: which they are (0: all), how many, and their values [draws or 1][row][16]. */
    const long *moving;
    long rows, apart; /* apart: rows there is room for */
    float *given;
    int shared; /* whether they are the same in all passes */
    /* Those that do not, without those that are 0: which they are, how many, their values. The bias comes after. */
    const long *same;
    long still;
    const float *values;
    /* What comes out, and derivatives by it: [passes][groups][TEN][vectors]. */
    V *out, *delta;
    V *spread, *variance; /* S [passes][vectors] and V [vectors] */
} Layer;

typedef struct {
    uint64_t key, step;
    long passes, groups; /* of ten samples */
    float rate;
    V *room; /* for a strip's noise on inputs that are the same in the batch */
} Step;

/* Names the noise of a part of a layer: tiles count from 2. */
INLINE void seed_part(Streams *streams, const Step *s, long layer, long column, long part) {
    seed(streams, s->key, s->step, (uint64_t)layer << 48 | (uint64_t)column << 32 | (uint64_t)part);
}

INLINE void load(V *to, const float *from, long columns) {
    to[0] = to[1] = (V){0};
    memcpy(to, from, columns * sizeof(float));
}

/* Row i of those behind inputs that are the same in the batch: its first column and the input's value. */
INLINE float same_row(const Layer *l, long i, long column, float **mean, float **std) {
    long at = (i < l->still ? l->same[i] * l->width : 0) + column;
    *mean = (i < l->still ? l->mean : l->bias) + at;
    *std = (i < l->still ? l->std : l->bias_std) + at;
    return i < l->still ? l->values[i] : 1;
}

INLINE V root(V x) {
    float all[LANES];
    memcpy(all, &x, sizeof x);
    EACH(i, LANES) all[i] = sqrtf(all[i]);
    memcpy(&x, all, sizeof x);
    return x;
}

/* out = sum of c mean + S. */
static void forward_same(const Layer *l, const Step *s, long layer, long strip, long columns, int across) {
    V shift[2] = {{0}}, variance[2] = {{0}}, m[2], d[2];
    Streams streams;
    EACH(i, l->still + 1) {
        float *mean, *std, c = same_row(l, i, strip * LANES, &mean, &std);
        load(m, mean, columns);
        load(d, std, columns);
        EACH(v, across) {
            shift[v] += c * m[v];
            variance[v] += (c * d[v]) * (c * d[v]);
        }
    }
    seed_part(&streams, s, layer, strip, 0);
    draw(&streams, even(s->passes * across), s->room, 0, 0, 0);
    EACH(v, across) {
        V deviation = root(variance[v]);
        l->variance[strip + v] = variance[v];
        EACH(k, s->passes) {
            V spread = s->room[k * across + v] * deviation, *out = l->out + k * s->groups * TEN * l->vectors + strip + v;
            l->spread[k * l->vectors + strip + v] = spread;
            EACH(n, s->groups * TEN) out[n * l->vectors] = shift[v] + spread;
        }
    }
}

/* Moves the rows behind inputs that are the same in the batch. */
static void backward_same(const Layer *l, const Step *s, long layer, long strip, long columns, int across) {
    V total[2] = {{0}}, square[2] = {{0}}, along[2] = {{0}}, m[2] = {{0}}, d[2] = {{0}}, g[2] = {{0}}, gn[2] = {{0}};
    Streams streams;
    seed_part(&streams, s, layer, strip, 1);
    draw(&streams, even((l->still + 1) * across), s->room, 0, 0, 0);
    EACH(v, across) {
        EACH(k, s->passes) {
            V sum = {0}, *delta = l->delta + k * s->groups * TEN * l->vectors + strip + v;
            EACH(n, s->groups * TEN) sum += delta[n * l->vectors];
            total[v] += sum;
            square[v] += sum * sum;
            along[v] += sum * l->spread[k * l->vectors + strip + v];
        }
        square[v] = root(square[v]);
    }
    for (int moves = 0; moves < 2; moves++) {
        if (moves) EACH(v, across) along[v] /= l->variance[strip + v] + 1e-30f; /* V is 0 where all std are */
        EACH(i, l->still + 1) {
            float *mean, *std, c = same_row(l, i, strip * LANES, &mean, &std);
            load(d, std, columns);
            EACH(v, across) {
                V nu = square[v] * s->room[i * across + v];
                if (!moves) along[v] -= c * d[v] * nu;
                g[v] = c * total[v];
                gn[v] = c * (nu + c * d[v] * along[v]);
            }
            if (!moves) continue;
            load(m, mean, columns);
            move(m, d, g, gn, across, s->rate);
            memcpy(mean, m, columns * sizeof(float));
            memcpy(std, d, columns * sizeof(float));
        }
    }
}

typedef struct {
    V mean[ROWS * 2], std[ROWS * 2], noise[ROWS * 2], w[ROWS * 2];
} Tile;

INLINE long row_of(const Layer *l, long i) { return l->moving ? l->moving[i] : i; }

/* Rows of a tile between the weights and vectors that are filled up with zeros. */
INLINE void copy(void *to, const void *from, long columns, const int across) {
    if (columns == across * LANES) /* a length that is known makes two moves of it instead of a call */
        memcpy(to, from, across * sizeof(V));
    else
        memcpy(to, from, columns * sizeof(float));
}

INLINE long gather(const Layer *l, long start, long strip, long columns, const int across, Tile *t) {
    long rows = least(ROWS, l->rows - start), next = least(ROWS, l->rows - start - rows);
    memset(t, 0, 2 * sizeof t->mean);
    EACH(i, rows) {
        long at = row_of(l, start + i) * l->width + strip * LANES;
        copy(t->mean + i * across, l->mean + at, columns, across);
        copy(t->std + i * across, l->std + at, columns, across);
    }
    EACH(i, next) { /* while this tile is worked on, the next one comes nearer */
        long at = row_of(l, start + rows + i) * l->width + strip * LANES;
        __builtin_prefetch(l->mean + at);
        __builtin_prefetch(l->mean + at + LANES);
        __builtin_prefetch(l->std + at);
        __builtin_prefetch(l->std + at + LANES);
    }
    return rows;
}

INLINE const float *given(const Layer *l, const Step *s, long pass, long group, long start) {
    return l->given + (((l->shared ? 0 : pass) * s->groups + group) * l->apart + start) * LANES;
}

INLINE void forward_strip(const Layer *l, const Step *s, long layer, long strip, const int across) {
    long columns = least(across * LANES, l->width - strip * LANES);
    Tile t;
    Streams streams;
    forward_same(l, s, layer, strip, columns, across);
    for (long start = 0; start < l->rows; start += ROWS) {
        long rows = gather(l, start, strip, columns, across, &t);
        seed_part(&streams, s, layer, strip, 2 + start / ROWS);
        EACH(k, s->passes) {
            draw(&streams, even(rows * across), 0, t.mean, t.std, t.w);
            EACH(g, s->groups)
            product(given(l, s, k, g, start), (float *)t.w, across * LANES,
                    (float *)(l->out + (k * s->groups + g) * TEN * l->vectors + strip), l->vectors * LANES, rows,
                    across * LANES, across, TEN, TEN, 1, 1, 0);
        }
    }
}

/* before: the layer below, whose delta is filled, or 0. turned: l->delta, [passes][groups][column][16]. */
INLINE void backward_strip(const Layer *l, const Layer *before, const V *turned, const V *over_passes, const Step *s,
                           long layer, long strip, const int across) {
    long columns = least(across * LANES, l->width - strip * LANES), draws = s->groups * TEN;
    Tile t;
    Streams streams;
    V total[ROWS * 2], total_noise[ROWS * 2], w[2 * LANES * ROWS / LANES];
    for (long start = 0; start < l->rows; start += ROWS) {
        long rows = gather(l, start, strip, columns, across, &t);
        seed_part(&streams, s, layer, strip, 2 + start / ROWS);
        memset(total, 0, sizeof total);
        memset(total_noise, 0, sizeof total_noise);
        EACH(k, s->passes) {
            draw(&streams, even(rows * across), t.noise, t.mean, t.std, before ? t.w : 0);
            EACH(g, s->groups)
            gradients(given(l, s, k, g, start), l->delta + k * draws * l->vectors + g * TEN * l->vectors + strip,
                      l->vectors, l->shared ? 0 : total, t.noise, total_noise, rows, across);
            if (!before) continue;
            EACH(v, across)
            for (long first = 0; first < rows; first += LANES)
                transposed((float *)(t.w + first * across + v), across * LANES, least(LANES, rows - first), LANES,
                           w + v * LANES * (ROWS / LANES) + first / LANES, ROWS / LANES);
            EACH(g, s->groups)
            for (long v = 0; v * LANES < rows; v += 2) {
                const float *delta = (const float *)(turned + ((k * s->groups + g) * l->vectors + strip) * LANES);
                float *out = (float *)(before->delta + (k * s->groups + g) * TEN * before->vectors + start / LANES + v);
                if ((v + 1) * LANES < rows)
                    product(delta, (float *)(w + v), ROWS, out, before->vectors * LANES, across * LANES, 2 * LANES, 2,
                            TEN, TEN, 1, 1, 0);
                else
                    product(delta, (float *)(w + v), ROWS, out, before->vectors * LANES, across * LANES, LANES, 1, TEN, TEN,
                            1, 1, 0);
            }
        }
        if (l->shared)
            EACH(g, s->groups)
        gradients(given(l, s, 0, g, start), over_passes + g * TEN * l->vectors + strip, l->vectors, total, 0, 0, rows,
                  across);
        move(t.mean, t.std, total, total_noise, rows * across, s->rate);
        EACH(i, rows) {
            long at = row_of(l, start + i) * l->width + strip * LANES;
            copy(l->mean + at, t.mean + i * across, columns, across);
            copy(l->std + at, t.std + i * across, columns, across);
        }
    }
    backward_same(l, s, layer, strip, columns, across);
}

/* Rows of tens of samples, as vectors over columns, to columns with a vector of ten samples each. */
static void turn(const V *from, long matrices, long vectors, V *to) {
    EACH(k, matrices) EACH(v, vectors)
    transposed((float *)(from + k * TEN * vectors + v), vectors * LANES, TEN, LANES, to + (k * vectors + v) * LANES, 1);
}

/* ---- a network */

/* Pieces of one block of memory; with base 0, only counts. */
static void *piece(char **base, size_t *used, size_t bytes) {
    void *at = *base ? *base + *used : 0;
    *used += (bytes + 63) / 64 * 64;
    return at;
}

/* Losses and derivatives by the logits, of one run: like `cross_entropy`. */
static float losses(const Layer *l, const Step *s, const int64_t *y, long count, float weight) {
    float sum = 0;
    EACH(k, s->passes) EACH(n, count) {
        long row = (k * s->groups * TEN + n) * l->vectors;
        const float *logits = (const float *)(l->out + row);
        float *delta = (float *)(l->delta + row), most = logits[0], total = 0;
        for (long j = 1; j < l->width; j++) most = logits[j] > most ? logits[j] : most;
        EACH(j, l->width) total += delta[j] = expf(logits[j] - most);
        EACH(j, l->width) delta[j] *= weight / total;
        delta[y[n]] -= weight;
        sum += weight * (logf(total) - (logits[y[n]] - most));
    }
    return sum;
}

/* Inputs of the first layer: pixels that differ within the batch, and those that do not and are not 0. */
static void look(Layer *l, const float *x, long features, long count, long groups, char *differs, long *moving,
                 long *same, float *values) {
    memset(differs, 0, features);
    for (long n = 1; n < count; n++) EACH(i, features) differs[i] |= x[n * features + i] != x[i];
    l->rows = l->still = 0;
    EACH(i, features) {
        if (differs[i] || x[i] != x[i])
            moving[l->rows++] = i;
        else if (x[i] != 0) {
            values[l->still] = x[i];
            same[l->still++] = i;
        }
    }
    l->apart = l->rows;
    memset(l->given, 0, groups * l->rows * LANES * sizeof(float));
    EACH(n, count) EACH(i, l->rows)
        l->given[((n / TEN) * l->rows + i) * LANES + n % TEN] = x[n * features + moving[i]];
    l->moving = moving, l->same = same, l->values = values;
}

/* A step of each run. sizes [layers + 1]; mean, std: laid out as `Layers.flat`; x [runs][count][features]. Memory to
   work in: `room`, of so many bytes as are returned if it is 0. losses [runs]: filled. */
size_t bgd_step(char *room, long runs, long layers, const int64_t *sizes, float *mean, float *std, const float *x,
                const int64_t *y, long count, long passes, float weight, float rate, const uint64_t *keys,
                uint64_t step, float *loss) {
    long groups = (count + TEN - 1) / TEN, draws = passes * groups * TEN, features = sizes[0], widest = 0;
    size_t used = 0;
    Layer all[layers];
    EACH(i, layers) {
        Layer *l = all + i;
        l->width = sizes[i + 1];
        l->vectors = (l->width + LANES - 1) / LANES;
        widest = l->vectors > widest ? l->vectors : widest;
        long rows = i ? all[i - 1].vectors * LANES : features;
        l->rows = i ? sizes[i] : 0, l->apart = rows, l->shared = !i, l->moving = l->same = 0, l->still = 0, l->values = 0;
        l->given = piece(&room, &used, (i ? passes : 1) * groups * rows * LANES * sizeof(float));
        l->out = piece(&room, &used, draws * l->vectors * sizeof(V));
        l->delta = piece(&room, &used, draws * l->vectors * sizeof(V));
        l->spread = piece(&room, &used, passes * l->vectors * sizeof(V));
        l->variance = piece(&room, &used, l->vectors * sizeof(V));
    }
    V *turned = piece(&room, &used, passes * groups * widest * LANES * sizeof(V));
    V *over_passes = piece(&room, &used, groups * TEN * all[0].vectors * sizeof(V));
    V *of_strip = piece(&room, &used, ((passes > features ? passes : features) + 2) * 2 * sizeof(V));
    long *moving = piece(&room, &used, features * sizeof(long)), *same = piece(&room, &used, features * sizeof(long));
    float *values = piece(&room, &used, features * sizeof(float));
    char *differs = piece(&room, &used, features);
    if (!room) return used;
    EACH(run, runs) {
        Step s = {keys[run], step, passes, groups, rate, of_strip};
        long at = 0;
        EACH(i, layers) {
            all[i].mean = mean + at + run * sizes[i] * sizes[i + 1];
            all[i].std = std + at + run * sizes[i] * sizes[i + 1];
            at += runs * sizes[i] * sizes[i + 1];
        }
        EACH(i, layers) {
            all[i].bias = mean + at + run * sizes[i + 1];
            all[i].bias_std = std + at + run * sizes[i + 1];
            at += runs * sizes[i + 1];
        }
        look(all, x + run * count * features, features, count, groups, differs, moving, same, values);
        EACH(i, layers) {
            Layer *l = all + i;
            for (long strip = 0; strip < l->vectors; strip += 2)
                if (strip + 1 < l->vectors)
                    forward_strip(l, &s, i, strip, 2);
                else
                    forward_strip(l, &s, i, strip, 1);
            if (i + 1 == layers) break;
            float *out = (float *)l->out;
            EACH(j, draws * l->vectors * LANES) out[j] = out[j] < 0 ? 0 : out[j];
            turn(l->out, passes * groups, l->vectors, (V *)all[i + 1].given);
        }
        Layer *last = all + layers - 1;
        memset(last->delta, 0, draws * last->vectors * sizeof(V));
        loss[run] = losses(last, &s, y + run * count, count, weight);
        for (long i = layers - 1; i >= 0; i--) {
            Layer *l = all + i, *before = i ? l - 1 : 0;
            if (before) {
                turn(l->delta, passes * groups, l->vectors, turned);
                memset(before->delta, 0, draws * before->vectors * sizeof(V));
            } else {
                memset(over_passes, 0, groups * TEN * l->vectors * sizeof(V));
                EACH(k, passes) EACH(j, groups * TEN * l->vectors)
                    over_passes[j] += l->delta[k * groups * TEN * l->vectors + j];
            }
            for (long strip = 0; strip < l->vectors; strip += 2)
                if (strip + 1 < l->vectors)
                    backward_strip(l, before, turned, over_passes, &s, i, strip, 2);
                else
                    backward_strip(l, before, turned, over_passes, &s, i, strip, 1);
            if (!before) break;
            float *delta = (float *)before->delta;
            const float *out = (const float *)before->out;
            EACH(j, draws * before->vectors * LANES) delta[j] = out[j] > 0 ? delta[j] : 0;
        }
    }
    return used;
}

/* ---- products of matrices, ten rows at a time; see `product` in compiled.py */

typedef struct {
    const float *at;
    long row, column, run; /* how far apart: one of the first two is 1 */
} Matrix;

enum { STRIPS = 10, WIDE = 2 * LANES }; /* strips of columns that are worked on together */

INLINE Matrix part(Matrix of, long run, long row, long column) {
    of.at += run * of.run + row * of.row + column * of.column;
    return of;
}

/* to[c] lane r = from(r, c) for so many rows, at most 16, and columns; zeros where there are no rows. */
INLINE void turned(Matrix from, long rows, long columns, V *to, long apart) {
    if (from.row == 1)
        EACH(c, columns) to[c * apart] = some(from.at + c * from.column, rows);
    else
        for (long c = 0; c < columns; c += LANES)
            transposed(from.at + c, from.row, rows, least(LANES, columns - c), to + c * apart, apart);
}

/* The product of some rows and a block of b: strips of it, side by side. */
INLINE void times_block(const V *x, const float *const *strips, const long *apart, float *out, long m, long rows,
                        long columns, const int few, int count, int keep, float factor, long ahead) {
    for (long at = 0; at < columns; at += WIDE) {
        long here = least(WIDE, columns - at), strip = at / WIDE;
        if (here > LANES)
            product((float *)x, strips[strip], apart[strip], out + at, m, rows, here, 2, few, count, keep, factor, ahead);
        else
            product((float *)x, strips[strip], apart[strip], out + at, m, rows, here, 1, few, count, keep, factor, ahead);
    }
}

INLINE float dot(const float *a, const float *b, long count) {
    V sum[4] = {{0}};
    float lanes[LANES], total = 0;
    for (long t = 0; t < count; t += 4 * LANES)
#pragma GCC unroll 4
        for (int v = 0; v < 4; v++)
            if (t + v * LANES < count)
                sum[v] += some(a + t + v * LANES, count - t - v * LANES) * some(b + t + v * LANES, count - t - v * LANES);
    sum[0] += sum[1] + (sum[2] + sum[3]);
    memcpy(lanes, sum, sizeof lanes);
    EACH(i, LANES) total += lanes[i];
    return total;
}

/* out [runs][n][m] = (keep ? out : 0) + factor * a b; a (n, inner), b (inner, m). */
void multiply(float *out, long runs, long n, long inner, long m, Matrix a, Matrix b, int keep, float factor) {
    V x[ROWS], w[STRIPS][ROWS][2];
    /* A few rows times many long ones wait for memory, which reads on by itself where few lie side by side. */
    long wide = b.column == 1 || n > 2 * TEN ? STRIPS * WIDE : WIDE;
    if (n == 1 && a.column == 1 && b.row == 1) { /* inner products */
        EACH(run, runs) EACH(j, m) {
            float *to = out + run * m + j;
            *to = (keep ? *to : 0) + factor * dot(a.at + run * a.run, b.at + run * b.run + j * b.column, inner);
        }
        return;
    }
    EACH(run, runs) for (long left = 0; left < m; left += wide) for (long start = 0; start < inner; start += ROWS) {
        long rows = least(ROWS, inner - start), columns = least(wide, m - left), apart[STRIPS];
        const float *strips[STRIPS];
        for (long at = 0; at < columns; at += WIDE) {
            Matrix strip = part(b, run, start, left + at), turn = {strip.at, b.column, b.row, 0};
            strips[at / WIDE] = strip.at, apart[at / WIDE] = b.row;
            if (b.column == 1 && columns - at >= WIDE) continue;
            turned(turn, least(LANES, columns - at), rows, w[at / WIDE][0], 2);
            turn.at += LANES * b.column;
            if (columns - at > LANES) turned(turn, least(LANES, columns - at - LANES), rows, w[at / WIDE][0] + 1, 2);
            strips[at / WIDE] = (float *)w[at / WIDE], apart[at / WIDE] = WIDE;
        }
        for (long first = 0; first < n; first += TEN) {
            int count = least(TEN, n - first);
            turned(part(a, run, first, start), count, rows, x, 1);
            float *to = out + (run * n + first) * m + left;
            long ahead = b.column == 1 && start + ROWS < inner ? ROWS * b.row : 0;
            if (n == 1)
                times_block(x, strips, apart, to, m, rows, columns, 1, count, keep || start, factor, ahead);
            else
                times_block(x, strips, apart, to, m, rows, columns, TEN, count, keep || start, factor, ahead);
        }
    }
}

/* ---- inner products of float32 vectors, summed in float64: rows [runs][n][width], others [runs][m][width] */

void exact_product(const float *rows, const float *others, double *found, long runs, long n, long m, long width) {
    EACH(run, runs) EACH(i, n) EACH(j, m) {
        const float *a = rows + (run * n + i) * width, *b = others + (run * m + j) * width;
        double part[LANES] = {0}, sum = 0;
        EACH(t, width / LANES) EACH(c, LANES) part[c] += (double)a[t * LANES + c] * b[t * LANES + c];
        for (long t = width / LANES * LANES; t < width; t++) sum += (double)a[t] * b[t];
        EACH(c, LANES) sum += part[c];
        *found++ = sum;
    }
}
