"""Bugs of upkeep: what compaction writes anew, and which rows expire."""

from __future__ import annotations

from kit.mutants.mutant import Mutant

__all__ = ["UPKEEP"]

UPKEEP = [
    Mutant(
        "compaction brings back what vectors deleted", "vectors", "upkeep/compaction/arrow.py",
        "old_file(table, f, deletes, origins.get(f.file_path))",
        "old_file(table, f, (), origins.get(f.file_path))",
        finds=("doubled", "undeleted"),
        caught="unit/upkeep/test_compaction_by_columns.py::test_rows_that_others_deleted_are_left_out",
    ),
    Mutant(
        "compaction leaves a file beside what it became", "append", "tables/commits/replacement.py",
        "kept=tuple(e for e in entries if not goes(e.data_file.file_path)),", "kept=tuple(entries[:1]),",
        finds=("doubled", "ledger"),
        caught="unit/tables/test_format_v3.py::test_rows_keep_their_ids_when_they_move",
    ),
    Mutant(
        "a file goes as soon as its oldest row is past", "expiry", "upkeep/row_expiry/plan.py",
        "if all_past(entry.data_file):", "if bounds and bounds[0] < cutoff.at:",
        finds=("missing",),
        caught="unit/upkeep/test_past_rows.py::test_a_file_goes_whole_only_where_each_of_its_rows_is_past",
    ),
    Mutant(
        "rows expire two days early", "expiry", "upkeep/row_expiry/plan.py",
        "LessThan(term=self.column, value=self.at * 1000)",
        "LessThan(term=self.column, value=self.at * 1000 + 2 * 86_400 * 10**6)",
        finds=("missing",),
        caught="unit/upkeep/test_past_rows.py::test_a_file_goes_whole_only_where_each_of_its_rows_is_past",
    ),
    Mutant(
        "values of files go into columns by their places", "append", "tables/writing/conversion.py",
        "for own, place in zip(schema, by_key.places(fields, schema), strict=True)",
        "for own, place in zip(schema, sorted(by_key.places(fields, schema)), strict=True)",
        finds=(),
        caught="unit/tables/test_fitting.py::test_columns_of_one_type_are_found_by_name_whatever_their_order",
    ),
]  # fmt: skip
