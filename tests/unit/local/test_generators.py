"""Generators and the pipelines that land what they make up belong together."""

from __future__ import annotations

import pytest

from frazil.formats.registry.wanted import read_schema
from frazil.pipelines.folder import load_pipelines, pipeline_folders
from frazil.settings.profile import Settings
from frazil.spec.topic import TableSpec
from frazil_local.generators import GENERATORS
from frazil_local.generators.generator import Generator


@pytest.fixture(scope="module")
def specs() -> dict[str, TableSpec]:
    """The tables of the checkout, by topic."""
    settings = Settings()
    pipelines = load_pipelines(pipeline_folders(settings), settings).all()
    return {spec.topic: spec for pipeline in pipelines for spec in pipeline.tables}


def test_every_topic_of_the_checkout_has_a_generator(specs: dict[str, TableSpec]) -> None:
    assert set(specs) == set(GENERATORS)


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
def test_the_pipeline_ships_the_generators_schemas(specs: dict[str, TableSpec], generator: Generator) -> None:
    spec = specs[generator.topic]

    for file, wanted in ((spec.key_schema, generator.key), (spec.value_schema, generator.value)):
        assert (file is None) == (wanted is None)
        if file and wanted:
            shipped = read_schema(file)
            assert (shipped.kind, shipped.text) == (wanted.kind, wanted.text)


@pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
def test_the_pipeline_takes_the_topic_that_the_generator_makes(
    specs: dict[str, TableSpec], generator: Generator
) -> None:
    assert specs[generator.topic].partitions == generator.partitions
