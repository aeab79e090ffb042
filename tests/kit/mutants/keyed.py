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
        caught="unit/landing/upsert/test_lane.py::"
        "test_of_two_partitions_the_timestamp_decides_whichever_task_read_which",
    ),
    Mutant(
        "where times are equal the smaller partition wins over the table", "upsert",
        "landing/upsert/lane/newest.py",
        "greater = pc.and_kleene(pc.equal(moment, at), pc.greater(change, partition))",
        "greater = pc.and_kleene(pc.equal(moment, at), pc.less(change, partition))",
        finds=("superseded",),
        caught="unit/landing/upsert/test_lane.py::"
        "test_where_the_times_of_a_row_and_a_change_are_equal_the_greater_partition_wins",
    ),
    Mutant(
        "a change that is older than the row replaces it", "upsert", "landing/upsert/lane/newest.py",
        "later = pc.or_kleene(pc.greater(moment, at), greater)",
        "later = pc.or_kleene(pc.not_equal(moment, at), greater)",
        finds=("superseded",),
        caught="unit/landing/upsert/test_lane.py::test_a_change_that_is_older_than_its_row_is_left_out",
    ),
    Mutant(
        "a change that is older than the row stands beside it", "upsert", "landing/upsert/lane/merge.py",
        "wins[each.changes[each.meets & ~each.won]] = False",
        "wins[each.changes[each.meets & ~each.won]] = True",
        finds=(),
        caught="unit/landing/upsert/test_lane.py::test_a_change_that_is_older_than_its_row_is_left_out",
    ),
    Mutant(
        "of two changes in one partition the earlier one counts", "upsert", "landing/upsert/lane/newest.py",
        "_with_greatest(changes, [*self.key, self.partition], order)",
        "_with_greatest(changes, [*self.key, self.partition], order[::-1])",
        finds=("superseded",),
        caught="unit/landing/upsert/test_lane.py::test_what_is_left_is_what_a_dictionary_says",
    ),
    Mutant(
        "a file's greatest key is not looked for in it", "upsert", "landing/upsert/lane/met.py",
        "pc.less_equal(changes[name], high)", "pc.less(changes[name], high)",
        finds=("doubled",),
        caught="unit/landing/upsert/test_lane.py::"
        "test_the_least_and_the_greatest_key_of_a_file_are_looked_for_in_it",
    ),
    Mutant(
        "a file's least key is not looked for in it", "upsert", "landing/upsert/lane/met.py",
        "pc.greater_equal(changes[name], low)", "pc.greater(changes[name], low)",
        finds=("doubled",),
        caught="unit/landing/upsert/test_lane.py::"
        "test_the_least_and_the_greatest_key_of_a_file_are_looked_for_in_it",
    ),
    Mutant(
        "a delete leaves a row without values", "upsert", "landing/upsert/lane/merge.py",
        "added = [self._rows(changes).filter(pa.array(wins & ~bare))]",
        "added = [self._rows(changes).filter(pa.array(wins))]",
        finds=(),
        caught="unit/landing/upsert/test_lane.py::test_what_is_left_is_what_a_dictionary_says",
    ),
    Mutant(
        "a row that a change replaces stays in its file", "upsert", "landing/upsert/lane/merge.py",
        "goes = each.won & each.of_changes(wins, True)",
        "goes = each.won & each.of_changes(wins, True) & each.of_changes(bare, True)",
        finds=(),
        caught="unit/landing/upsert/test_lane.py::test_what_is_left_is_what_a_dictionary_says",
    ),
    Mutant(
        "a second vector takes rows by their places among those that are left", "vectors",
        "tables/format_v3/vector_files.py",
        "is_left[np.flatnonzero(is_left)[gone]] = False", "is_left[gone] = False",
        finds=("doubled", "missing", "undeleted"),
        caught="unit/tables/test_format_v3.py::"
        "test_a_vector_takes_the_place_of_the_one_before_and_totals_tell_it",
    ),
    Mutant(
        "a second vector forgets what the first one took", "vectors", "tables/format_v3/vector_files.py",
        "is_left[deleted_places(layout, file)] = False", "is_left[deleted_places(layout, file)[:0]] = False",
        finds=("doubled", "missing", "undeleted"),
        caught="unit/tables/test_format_v3.py::"
        "test_a_vector_takes_the_place_of_the_one_before_and_totals_tell_it",
    ),
    Mutant(
        "the first row of a file stays, though a vector deletes it", "vectors", "tables/reading/deleted.py",
        "gone[places[(places >= 0) & (places < len(gone))]] = True",
        "gone[places[(places > 0) & (places < len(gone))]] = True",
        finds=("doubled", "missing"),
        caught="unit/tables/reading/test_deleted.py::"
        "test_rows_at_deleted_places_go_in_whatever_part_of_a_file_they_are",
    ),
    Mutant(
        "a delete of the source counts only by its tombstone", "cdc", "landing/lane/intake.py",
        "return pc.or_(tombstones, _does(good, DELETE)) if OP in good.schema.names else tombstones",
        "return tombstones",
        finds=(),
        caught="unit/landing/upsert/test_changes_in_lane.py::test_rows_are_those_of_the_database",
    ),
    Mutant(
        "the source's time is a thousandth of itself", "cdc", "formats/debezium/envelope_batch.py",
        "pc.multiply(pc.if_else(is_moment, millis, None), 1000)",
        "pc.multiply(pc.if_else(is_moment, millis, None), 1)",
        finds=("altered",),
        caught="unit/formats/test_envelope_columns.py::"
        "test_in_the_place_of_the_envelope_stands_the_row_and_a_delete_has_none",
    ),
    Mutant(
        "the place in the source's log is its time", "cdc", "formats/debezium/envelope_batch.py",
        'return self._number(value, "lsn") if', 'return self._number(value, "ts_ms") if',
        finds=("altered",),
        caught="unit/formats/test_envelope_columns.py::"
        "test_in_the_place_of_the_envelope_stands_the_row_and_a_delete_has_none",
    ),
    Mutant(
        "rows of the source's snapshot are no changes", "cdc", "formats/debezium/envelope_batch.py",
        'PUTS, DELETE, TRUNCATE = ("c", "u", "r"), "d", "t"', 'PUTS, DELETE, TRUNCATE = ("c", "u"), "d", "t"',
        finds=("missing",),
        caught="unit/formats/test_envelope_columns.py::test_each_record_gets_its_verdict_and_its_reason",
    ),
]  # fmt: skip
