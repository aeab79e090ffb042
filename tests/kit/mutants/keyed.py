"""Bugs of tables with a row per key: which change is the newest, what it meets, and what a delete leaves."""

from __future__ import annotations

from kit.mutants.mutant import Mutant

__all__ = ["KEYED"]


KEYED = [
    Mutant(
        "between partitions the greater one wins, whatever the times say", "upsert",
        "landing/upsert/lane/newest.py",
        "self._numbers(last, self.partition, self.timestamp)",
        "self._numbers(last, self.timestamp, self.partition)",
        finds=("superseded",),
    ),
    Mutant(
        "where times are equal the smaller partition wins over the table", "upsert",
        "landing/upsert/lane/newest.py",
        "greater = pc.and_kleene(pc.equal(moment, at), pc.greater(change, partition))",
        "greater = pc.and_kleene(pc.equal(moment, at), pc.less(change, partition))",
        finds=("superseded",),
    ),
    Mutant(
        "a change that is older than the row replaces it", "upsert", "landing/upsert/lane/newest.py",
        "later = pc.or_kleene(pc.greater(moment, at), greater)",
        "later = pc.or_kleene(pc.not_equal(moment, at), greater)",
        finds=("superseded",),
    ),
    Mutant(
        "a change that is older than the row stands beside it", "upsert", "landing/upsert/lane/merge.py",
        "wins[each.changes[each.meets & ~each.won]] = False",
        "wins[each.changes[each.meets & ~each.won]] = True",
        finds=(),
    ),
    Mutant(
        "of two changes in one partition the earlier one counts", "upsert", "landing/upsert/lane/newest.py",
        "_with_greatest(changes, [*self.key, self.partition], order)",
        "_with_greatest(changes, [*self.key, self.partition], order[::-1])",
        finds=("superseded",),
    ),
    Mutant(
        "a file's greatest key is not looked for in it", "upsert", "landing/upsert/lane/met.py",
        "pc.less_equal(changes[name], high)", "pc.less(changes[name], high)",
        finds=("doubled",),
    ),
    Mutant(
        "a file's least key is not looked for in it", "upsert", "landing/upsert/lane/met.py",
        "pc.greater_equal(changes[name], low)", "pc.greater(changes[name], low)",
        finds=("doubled",),
    ),
    Mutant(
        "a delete leaves a row without values", "upsert", "landing/upsert/lane/merge.py",
        "added = [self._rows(changes).filter(pa.array(wins & ~bare))]",
        "added = [self._rows(changes).filter(pa.array(wins))]",
        finds=(),
    ),
    Mutant(
        "a row that a change replaces stays in its file", "upsert", "landing/upsert/lane/merge.py",
        "goes = each.won & each.of_changes(wins, True)",
        "goes = each.won & each.of_changes(wins, True) & each.of_changes(bare, True)",
        finds=(),
    ),
    Mutant(
        "a second vector takes rows by their places among those that are left", "vectors",
        "tables/format_v3/vector_files.py",
        "is_left[np.flatnonzero(is_left)[gone]] = False", "is_left[gone] = False",
        finds=("doubled", "missing", "undeleted"),
    ),
    Mutant(
        "a second vector forgets what the first one took", "vectors", "tables/format_v3/vector_files.py",
        "is_left[deleted_places(layout, file)] = False", "is_left[deleted_places(layout, file)[:0]] = False",
        finds=("doubled", "missing", "undeleted"),
    ),
    Mutant(
        "the first row of a file stays, though a vector deletes it", "vectors", "tables/reading/deleted.py",
        "gone[places[(places >= 0) & (places < len(gone))]] = True",
        "gone[places[(places > 0) & (places < len(gone))]] = True",
        finds=("doubled", "missing"),
    ),
    Mutant(
        "a delete of the source counts only by its tombstone", "cdc", "landing/lane/intake.py",
        "return pc.or_(tombstones, _does(good, DELETE)) if OP in good.schema.names else tombstones",
        "return tombstones",
        finds=(),
    ),
    Mutant(
        "the source's time is a thousandth of itself", "cdc", "formats/debezium/envelope_batch.py",
        "pc.multiply(pc.if_else(is_moment, millis, None), 1000)",
        "pc.multiply(pc.if_else(is_moment, millis, None), 1)",
        finds=("altered",),
    ),
    Mutant(
        "the place in the source's log is its time", "cdc", "formats/debezium/envelope_batch.py",
        'return self._number(value, "lsn") if', 'return self._number(value, "ts_ms") if',
        finds=("altered",),
    ),
    Mutant(
        "rows of the source's snapshot are no changes", "cdc", "formats/debezium/envelope_batch.py",
        'PUTS, DELETE, TRUNCATE = ("c", "u", "r"), "d", "t"', 'PUTS, DELETE, TRUNCATE = ("c", "u"), "d", "t"',
        finds=("missing",),
    ),
]  # fmt: skip
