from __future__ import annotations

import dagster as dg
import pytest

from assets.outcome import ERRORS, causes_of, engine_errors, failure
from frazil.errors import FrazilError, OffsetsLostError, PartDownError


def test_what_may_succeed_later_is_tried_again() -> None:
    with pytest.raises(dg.RetryRequested) as asked, engine_errors():
        raise PartDownError("Glue does not answer.")

    assert asked.value.max_retries == 2
    assert "Glue does not answer." in str(asked.value.__cause__)


def test_what_a_person_must_mend_fails_at_once_in_its_own_words() -> None:
    with pytest.raises(dg.Failure) as failed, engine_errors():
        raise OffsetsLostError("Records are gone.", where="partition 3", todo="Land more often.")

    assert not failed.value.allow_retries
    assert failed.value.description == ("Records are gone.\n  Where: partition 3\n  Next: Land more often.")


def test_a_mistake_of_ours_keeps_its_stack_trace() -> None:
    with pytest.raises(ZeroDivisionError), engine_errors():
        _ = 1 / 0


@pytest.mark.parametrize("error", [OffsetsLostError("Records are gone."), PartDownError("Glue is silent.")])
def test_a_run_that_fails_shows_the_message_and_no_trace(
    error: FrazilError, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("assets.outcome.SECONDS_BETWEEN", 0)

    @dg.asset
    def table() -> None:
        with engine_errors():
            raise error

    result = dg.materialize([table], raise_on_error=False)

    (event,) = result.get_step_failure_events()
    failure = event.step_failure_data.error
    shown = failure.cause or failure
    assert str(error) in shown.message
    assert shown.stack == []
    assert causes_of(event)[""].text == str(error)


def test_many_that_fail_alike_are_told_once_with_their_number(instance: dg.DagsterInstance) -> None:
    down = PartDownError("The schema registry does not answer.")
    failed: dict[str, Exception] = {f"local.t{n:03}": down for n in range(100)}
    failed["local.t007"] = OffsetsLostError("Records are gone.")

    raised = failure(dg.build_asset_context(instance=instance), "could not be landed", failed, 100)

    text = str(raised)
    assert text.count("does not answer") == 1
    assert "local.t008, local.t009, local.t010 and 89 more: The schema registry" in text
    assert "local.t007: Records are gone." in text
    assert len(raised.metadata[ERRORS].value) == 100
