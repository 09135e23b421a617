"""Normal numbers from a counter, in Python's own integers and float64: Philox4x32-10, then Box and Muller."""

import math

MASK = 0xFFFFFFFF


def philox(counter, key):
    """Four words of a counter and two of a key to four random words."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & MASK, (a >> 32) ^ c[3] ^ k[1], a & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def pair(first, second):
    """Two words to two normal numbers."""
    radius = math.sqrt(-2 * math.log(((first >> 1) + 0.5) / 2**31))
    angle = 2 * math.pi * second / 2**32
    return radius * math.cos(angle), radius * math.sin(angle)


def normal(count, key, step, call):
    """The numbers of one call: word block i gives number i of each quarter, the last block the rest."""
    quarter = count // 4
    blocks = []
    for i in range(quarter + 1):
        words = philox((i, call, step & MASK, step >> 32), key)
        blocks.append((*pair(*words[:2]), *pair(*words[2:])))
    ordered = [block[part] for part in range(4) for block in blocks[:quarter]]
    return ordered + list(blocks[quarter][: count - 4 * quarter])
