"""A table remembers its masks: another one is approved, and what it leaves behind is said."""

from __future__ import annotations

from frazil.formats.evolution import Verdict
from frazil.formats.logical import Field, Primitive, Struct
from frazil.landing.schema.masking import NotedMasks, mask_verdicts
from frazil.spec.migrations import Masking, Migration, Rename

TABLE = Struct((Field("email", Primitive("string")), Field("n", Primitive("int"))))
HASHED = "hash masks 1a2b3c4d"


def verdicts(
    before: dict[str, str], now: dict[str, str], *migrations: Migration, done: tuple[str, ...] = (),
    wanted: Struct = TABLE,
) -> list[Verdict]:  # fmt: skip
    return mask_verdicts(NotedMasks(before, done), now, migrations, TABLE, wanted)


def approval(to: str = "hash") -> Migration:
    return Migration(id="m", mask=Masking.model_validate({"column": "email", "to": to}))


def test_the_same_masks_ask_for_nothing() -> None:
    assert verdicts({"email": HASHED}, {"email": HASHED}) == []


def test_a_mask_of_a_column_that_holds_rows_stops_the_table_and_names_the_line_and_what_stays() -> None:
    (verdict,) = verdicts({}, {"email": HASHED})

    assert not verdict.allowed
    assert "keep email as it came" in verdict.rule
    assert "- {id: mask-email-hash, mask: {column: email, to: hash}}" in verdict.todo


def test_an_approved_one_is_taken_once() -> None:
    assert verdicts({}, {"email": HASHED}, approval())[0].allowed
    assert not verdicts({}, {"email": HASHED}, approval(), done=("m",))[0].allowed
    assert not verdicts({}, {"email": HASHED}, approval("last4"))[0].allowed


def test_another_key_and_no_mask_any_more_are_changes_too() -> None:
    assert "the key is another one" in verdicts({"email": HASHED}, {"email": "hash masks 00000000"})[0].rule
    assert "keep email masked by hash" in verdicts({"email": HASHED}, {})[0].rule
    assert verdicts({"email": HASHED}, {}, approval("none"))[0].allowed


def test_a_column_that_is_new_or_has_another_type_needs_no_second_word() -> None:
    text = Struct((Field("email", Primitive("string")), Field("n", Primitive("string"))))

    assert verdicts({}, {"phone": HASHED}) == []
    assert verdicts({}, {"n": HASHED}, wanted=text) == []


def test_a_renamed_column_keeps_its_mask() -> None:
    rename = Migration(id="r", rename=Rename.model_validate({"from": "mail", "to": "email"}))

    assert verdicts({"mail": HASHED}, {"email": HASHED}, rename) == []


def test_what_is_noted_is_read_again() -> None:
    noted = NotedMasks({"email": HASHED}, ("m",))

    assert NotedMasks().properties == {}
    assert "1a2b3c4d" in noted.properties["frazil.masks"]
