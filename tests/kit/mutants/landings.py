"""Bugs of landings: which records are read, what becomes of them, and where the next landing goes on."""

from __future__ import annotations

from kit.mutants.mutant import Mutant

__all__ = ["LANDINGS"]


LANDINGS = [
    Mutant(
        "records of aborted transactions are read", "append", "landing/source.py",
        '"kafka.isolation.level": "read_committed"', '"kafka.isolation.level": "read_uncommitted"',
        finds=(),
    ),
    Mutant(
        "each landing but the first begins one offset late", "append", "landing/plan.py",
        "spans={p: (start, start + taken[p]) for p, start in begins.items()}",
        "spans={p: (start + (start > 0 < taken[p]), start + taken[p]) for p, start in begins.items()}",
        finds=("ledger", "missing"),
    ),
    Mutant(
        "the next landing begins one offset early", "append", "landing/position/ledger.py",
        "return {p: to for p, (_, to) in self.spans.items()}",
        "return {p: max(to - 1, 0) for p, (_, to) in self.spans.items()}",
        finds=("ledger",),
    ),
    Mutant(
        "who was overtaken publishes all the same", "append", "landing/publication.py",
        "if now != then:", "if before is None and now != then:",
        finds=("doubled", "ledger"),
    ),
    Mutant(
        "the two kinds of times have each other's names", "append", "landing/lane/metadata.py",
        '"CREATE_TIME", "LOG_APPEND_TIME"', '"LOG_APPEND_TIME", "CREATE_TIME"',
        finds=("altered",),
    ),
    Mutant(
        "the bytes of key and value are exchanged", "append", "landing/lane/metadata.py",
        '"raw-key": "raw_key", "raw-value": "raw_value"', '"raw-key": "raw_value", "raw-value": "raw_key"',
        finds=("altered",),
    ),
    Mutant(
        "the leader's epoch is lost where it is the same for all", "append", "landing/lane/intake.py",
        "pa.scalar(next(iter(values), None), pa.int32())", "pa.scalar(None, pa.int32())",
        finds=("altered",),
    ),
    Mutant(
        "of equal headers the first one counts", "append", "formats/batches/entries.py",
        "kept[len(keys) - 1 - last] = True", "kept[last] = True",
        finds=("altered",),
    ),
    Mutant(
        "bad records of earlier landings are not counted any more", "append", "landing/position/ledger.py",
        "total_bad=dead + self.skipped + (before.total_bad if before else 0)",
        "total_bad=dead + self.skipped",
        finds=("unaccounted",),
    ),
    Mutant(
        "the last dead letter of each landing is not kept", "append", "landing/repairs/dead_letters.py",
        "rows = [_row(ledger, log, b, seal) for b in bad if b.key not in kept]",
        "rows = [_row(ledger, log, b, seal) for b in bad[:-1] if b.key not in kept]",
        finds=("letter_missing",),
    ),
    Mutant(
        "the first letter of the topic's name is lost", "append", "landing/lane/metadata.py",
        "pa.repeat(topic, len(batch))", "pa.repeat(topic[1:], len(batch))",
        finds=("altered",),
    ),
    Mutant(
        "a moment of milliseconds gets a microsecond more", "append", "formats/avro/decoding/scalars.py",
        ".astype(np.int64) * 1000,", ".astype(np.int64) * 1000 + 1,",
        finds=("altered",),
    ),
    Mutant(
        "decimals that are negative become positive", "append", "formats/avro/decoding/decimals.py",
        "padded[negative] = 255", "padded[negative] = 0",
        finds=("altered",),
    ),
    Mutant(
        "the last part of a fixed comes first", "append", "formats/avro/decoding/scalars.py",
        "*split])", "*split[::-1]])",
        finds=("altered",),
    ),
    Mutant(
        "an enum is the symbol beside its own", "append", "formats/avro/decoding/scalars.py",
        ".take(pa.array(codes, mask=unknown | missing))",
        ".take(pa.array((codes + 1) % len(symbols), mask=unknown | missing))",
        finds=("altered",),
    ),
    Mutant(
        "a field that the writer lacks is null, whatever its default", "append",
        "formats/avro/decoding/projection.py",
        'has_default = field["default"] is not None', "has_default = False",
        finds=(),
    ),
    Mutant(
        "a union's value comes from the row before, where it has two branches", "append",
        "formats/avro/decoding/projection.py",
        "order[own] = place * len(chosen) + own", "order[own] = place * len(chosen) + own.clip(1) - 1",
        finds=("altered",),
    ),
]  # fmt: skip
