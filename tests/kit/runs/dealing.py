"""How `--dist loadfile` deals tests to workers: those of a file together, and those that share stand-ins."""

from __future__ import annotations

from xdist.scheduler import LoadFileScheduling

_SHARE_STAND_INS = ("tests/cloud/", "tests/stack/snowflake")
"""Folders that start a stand-in once a worker; each of them takes seconds."""

_WITH = {
    "tests/cloud/local/aws": "tests/cloud/aws",
    "tests/cloud/local/confluent": "tests/cloud/confluent",
    "tests/cloud/local/snowflake": "tests/cloud/rotation",
}
"""Folders that use the stand-ins of another one."""


class ByStandIn(LoadFileScheduling):
    """Gives a folder whose tests share stand-ins to one worker, so that these start once."""

    def _split_scope(self, nodeid: str) -> str:
        """The name of what goes to one worker."""
        file = super()._split_scope(nodeid)
        folder = file.rpartition("/")[0]
        return _WITH.get(folder, folder) if folder.startswith(_SHARE_STAND_INS) else file
