"""Bugs of landings: which records are read, what becomes of them, and where the next landing goes on."""

from __future__ import annotations

from kit.mutants.mutant import Mutant

__all__ = ["LANDINGS"]


LANDINGS = [
    Mutant(
        "records of aborted transactions are read", "append", "landing/source.py",
        '"kafka.isolation.level": "read_committed"', '"kafka.isolation.level": "read_uncommitted"',
        finds=(),
        caught="unit/landing/test_source.py::"
        "test_only_what_was_committed_is_read_and_a_range_that_is_gone_is_an_error",
    ),
    Mutant(
        "each landing but the first begins one offset late", "append", "landing/plan.py",
        "spans={p: (start, start + taken[p]) for p, start in begins.items()}",
        "spans={p: (start + (start > 0 < taken[p]), start + taken[p]) for p, start in begins.items()}",
        finds=("ledger", "missing"),
        caught="unit/landing/test_plan.py::"
        "test_a_first_landing_starts_at_the_first_offsets_that_kafka_still_holds",
    ),
    Mutant(
        "the next landing begins one offset early", "append", "landing/position/ledger.py",
        "return {p: to for p, (_, to) in self.spans.items()}",
        "return {p: max(to - 1, 0) for p, (_, to) in self.spans.items()}",
        finds=("ledger",),
        caught="unit/landing/test_position.py::test_the_position_names_idle_partitions_too",
    ),
    Mutant(
        "who was overtaken publishes all the same", "append", "landing/publication.py",
        "if now != then:", "if before is None and now != then:",
        finds=("doubled", "ledger"),
        caught="faults/test_model.py::"
        "test_whatever_comes_between_each_record_is_there_once_and_every_message_is_true",
    ),
    Mutant(
        "the two kinds of times have each other's names", "append", "landing/lane/metadata.py",
        '"CREATE_TIME", "LOG_APPEND_TIME"', '"LOG_APPEND_TIME", "CREATE_TIME"',
        finds=("altered",),
        caught="unit/landing/lane/test_task.py::test_a_rows_metadata_is_its_records",
    ),
    Mutant(
        "the bytes of key and value are exchanged", "append", "landing/lane/metadata.py",
        '"raw-key": "raw_key", "raw-value": "raw_value"', '"raw-key": "raw_value", "raw-value": "raw_key"',
        finds=("altered",),
        caught="unit/landing/lane/test_task.py::"
        "test_a_row_has_the_bytes_of_its_key_and_of_its_value_where_the_table_keeps_them",
    ),
    Mutant(
        "the leader's epoch is lost where it is the same for all", "append", "landing/lane/intake.py",
        "pa.scalar(next(iter(values), None), pa.int32())", "pa.scalar(None, pa.int32())",
        finds=("altered",),
        caught="unit/landing/lane/test_task.py::test_each_record_gets_the_verdict_that_sql_gives",
    ),
    Mutant(
        "of equal headers the first one counts", "append", "formats/batches/entries.py",
        "kept[len(keys) - 1 - last] = True", "kept[last] = True",
        finds=("altered",),
        caught="unit/landing/lane/test_task.py::test_of_headers_of_one_name_the_last_one_is_kept",
    ),
    Mutant(
        "bad records of earlier landings are not counted any more", "append", "landing/position/ledger.py",
        "total_bad=dead + self.skipped + (before.total_bad if before else 0)",
        "total_bad=dead + self.skipped",
        finds=("unaccounted",),
        caught="unit/landing/test_position.py::test_totals_follow_from_the_ledger_before",
    ),
    Mutant(
        "the last dead letter of each landing is not kept", "append", "landing/repairs/dead_letters.py",
        "rows = [_row(ledger, log, b, seal) for b in bad if b.key not in kept]",
        "rows = [_row(ledger, log, b, seal) for b in bad[:-1] if b.key not in kept]",
        finds=("letter_missing",),
        caught="unit/landing/test_dead_letters.py::test_a_dead_letter_is_read_back_as_it_was_kept",
    ),
    Mutant(
        "the first letter of the topic's name is lost", "append", "landing/lane/metadata.py",
        "pa.repeat(topic, len(batch))", "pa.repeat(topic[1:], len(batch))",
        finds=("altered",),
        caught="unit/landing/lane/test_task.py::test_a_rows_metadata_is_its_records",
    ),
    Mutant(
        "a moment of milliseconds gets a microsecond more", "append", "formats/avro/decoding/scalars.py",
        ".astype(np.int64) * 1000,", ".astype(np.int64) * 1000 + 1,",
        finds=("altered",),
        caught="unit/formats/test_avro_columns.py::test_a_field_becomes_the_values_of_the_mapping_table",
    ),
    Mutant(
        "decimals that are negative become positive", "append", "formats/avro/decoding/decimals.py",
        "padded[negative] = 255", "padded[negative] = 0",
        finds=("altered",),
        caught="unit/formats/test_avro_columns.py::test_a_field_becomes_the_values_of_the_mapping_table",
    ),
    Mutant(
        "the last part of a fixed comes first", "append", "formats/avro/decoding/scalars.py",
        "*split])", "*split[::-1]])",
        finds=("altered",),
        caught="unit/formats/test_avro_columns.py::test_a_field_becomes_the_values_of_the_mapping_table",
    ),
    Mutant(
        "an enum is the symbol beside its own", "append", "formats/avro/decoding/scalars.py",
        ".take(pa.array(codes, mask=unknown | missing))",
        ".take(pa.array((codes + 1) % len(symbols), mask=unknown | missing))",
        finds=("altered",),
        caught="unit/formats/test_avro_columns.py::test_a_field_becomes_the_values_of_the_mapping_table",
    ),
    Mutant(
        "a field that the writer lacks is null, whatever its default", "append",
        "formats/avro/decoding/projection.py",
        'has_default = field["default"] is not None', "has_default = False",
        finds=(),
        caught="unit/formats/test_avro_columns.py::"
        "test_a_default_that_is_none_makes_the_records_bad_that_need_it",
    ),
    Mutant(
        "a union's value comes from the row before, where it has two branches", "append",
        "formats/avro/decoding/projection.py",
        "order[own] = place * len(chosen) + own", "order[own] = place * len(chosen) + own.clip(1) - 1",
        finds=("altered",),
        caught="unit/formats/test_avro_columns.py::test_a_field_becomes_the_values_of_the_mapping_table",
    ),
]  # fmt: skip
