"""Payloads damaged in every way that a producer, a proxy or a disk may think of; seeded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

__all__ = ["FRAME", "damaged"]

Damage = Callable[[Random, bytes, bytes], bytes]
"""Makes a bad payload of a good one; the second one is for what needs two."""

FRAME = 5


def _bits(random: Random, good: bytes, _: bytes) -> bytes:
    bad = bytearray(good)
    for _n in range(random.randint(1, 3)):
        bad[random.randrange(len(bad))] ^= 1 << random.randrange(8)
    return bytes(bad)


def _byte(random: Random, good: bytes, _: bytes) -> bytes:
    at = random.randrange(len(good))
    return good[:at] + random.choice([b"\0", b"\x7f", b"\x80", b"\xff", random.randbytes(1)]) + good[at + 1 :]


def _cut(random: Random, good: bytes, _: bytes) -> bytes:
    return good[: random.randrange(len(good))]


def _inserted(random: Random, good: bytes, _: bytes) -> bytes:
    at = random.randint(0, len(good))
    return good[:at] + random.randbytes(random.randint(1, 4)) + good[at:]


def _deleted(random: Random, good: bytes, _: bytes) -> bytes:
    at = random.randrange(len(good))
    return good[:at] + good[at + random.randint(1, 4) :]


def _doubled(random: Random, good: bytes, _: bytes) -> bytes:
    start, end = sorted((random.randrange(len(good)), random.randrange(len(good))))
    return good[:end] + good[start:]


def _swapped(random: Random, good: bytes, other: bytes) -> bytes:
    at = random.randint(FRAME, len(good))
    return good[:at] + other[at:]


def _glued(_: Random, good: bytes, other: bytes) -> bytes:
    return good + other


def _glued_bare(_: Random, good: bytes, other: bytes) -> bytes:
    return good + other[FRAME:]


def _noise(random: Random, good: bytes, _: bytes) -> bytes:
    return random.randbytes(random.randint(0, 2 * len(good)))


def _noise_in_frame(random: Random, good: bytes, _: bytes) -> bytes:
    return good[:FRAME] + random.randbytes(random.randint(0, len(good)))


def _magic(random: Random, good: bytes, _: bytes) -> bytes:
    return bytes([random.randint(1, 255)]) + good[1:]


def _id(random: Random, good: bytes, _: bytes) -> bytes:
    return good[:1] + random.choice([b"\0\0\0\0", b"\xff" * 4, random.randbytes(4)]) + good[FRAME:]


def _huge(random: Random, good: bytes, _: bytes) -> bytes:
    """A length that no memory holds, where one may stand."""
    at = random.randint(FRAME, len(good))
    return good[:at] + random.choice([b"\xfe\xff\xff\xff\x0f", b"\xfe" + b"\xff" * 8 + b"\1"]) + good[at:]


def _untouched(_: Random, good: bytes, __: bytes) -> bytes:
    return good


_DAMAGES: tuple[Damage, ...] = (
    _bits, _bits, _bits, _byte, _byte, _cut, _inserted, _deleted, _doubled, _swapped, _glued, _glued_bare,
    _noise, _noise_in_frame, _magic, _id, _huge, _untouched,
)  # fmt: skip
"""Every kind in turn; bits more often, since most of them make another valid record."""


def damaged(good: Sequence[bytes], count: int, seed: int) -> list[bytes]:
    """As many payloads, each kind of damage as often as it is listed.

    Args:
        good: Payloads in the wire format to begin with.
        count: How many to make.
        seed: The same one makes the same payloads.
    """
    random = Random(seed)
    return [
        _DAMAGES[n % len(_DAMAGES)](random, random.choice(good), random.choice(good)) for n in range(count)
    ]
