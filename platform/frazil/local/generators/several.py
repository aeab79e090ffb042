"""Several generators at once, each to its own topic."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from frazil.local.generators.generator import GeneratedReport, Generator, generate
from frazil.settings import Settings

__all__ = ["generate_several"]


def generate_several(
    generators: Sequence[Generator],
    settings: Settings,
    *,
    count: int | None = None,
    rate: float | None = None,
    seed: int | None = None,
    on_progress: Callable[[str, int], None] = lambda *_: None,
    stop: threading.Event | None = None,
) -> list[GeneratedReport]:
    """Produces records of each at the same time; those of one seed speak of the same people.

    Args:
        generators: What is made up.
        settings: The environment.
        count: How many of each; without it until `stop`.
        rate: How many of each a second; without it as fast as Kafka takes them.
        seed: The same seed gives the same records; without it all get one by chance.
        on_progress: Told a topic, and how many were handed over to it.
        stop: Ends it early.

    Raises:
        FrazilError: One of them failed; the others were stopped, what they produced stays.
    """
    stop = stop or threading.Event()
    seed = random.getrandbits(32) if seed is None else seed

    def one(generator: Generator) -> GeneratedReport:
        def told(sent: int) -> None:
            on_progress(generator.topic, sent)

        try:
            return generate(
                generator, settings, count=count, rate=rate, seed=seed, on_progress=told, stop=stop
            )
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(len(generators)) as pool:
        return list(pool.map(one, generators))
