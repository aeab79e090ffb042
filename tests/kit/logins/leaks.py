"""Where a secret is written: as it is, or as files, pages and headers write text."""

from __future__ import annotations

import base64
import html
import json
import mmap
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

_AROUND = 60  # bytes of text before a leak, to see whose it is
_PLAIN: tuple[Callable[[str], str], ...] = (str, quote, html.escape, lambda text: json.dumps(text)[1:-1])


def forms(secret: str) -> set[bytes]:
    """All ways to write a secret that are looked for; in base64 it may stand in the middle of a text."""
    raw = secret.encode()
    plain = {write(secret).encode() for write in _PLAIN}
    return {*plain, raw.hex().encode(), raw.hex().upper().encode(), *_in_base64(raw)}


def _in_base64(raw: bytes) -> Iterator[bytes]:
    for before in range(3):
        text = base64.b64encode(bytes(before) + raw)
        whole = text[(0, 2, 3)[before] : (before + len(raw)) * 8 // 6]
        yield from (whole, whole.translate(bytes.maketrans(b"+/", b"-_")))


class Search:
    """Looks for some secrets."""

    def __init__(self, secrets: Collection[str]) -> None:
        self._forms = {form for secret in secrets for form in forms(secret)}

    def text(self, text: str | bytes | mmap.mmap) -> str:
        """What surrounds the first secret; nothing where there is none."""
        content = text.encode() if isinstance(text, str) else text
        for form in self._forms:
            if (at := content.find(form)) >= 0:
                return content[max(0, at - _AROUND) : at + len(form) + _AROUND].decode(errors="replace")
        return ""

    def texts(self, texts: Mapping[str, str]) -> dict[str, str]:
        """The texts with a secret, and what surrounds it."""
        return {name: leak for name, text in texts.items() if (leak := self.text(text))}

    def files(self, folder: Path, exempt: Collection[Path] = ()) -> dict[str, str]:
        """Files below a folder with a secret, and what surrounds it; what is exempt may be a folder."""
        leaks = {}
        for file in (path for path in folder.rglob("*") if path.is_file() and path.stat().st_size):
            if not any(each in exempt for each in (file, *file.parents)):
                leaks[str(file.relative_to(folder))] = self._file(file)
        assert leaks, f"nothing was written below {folder}"
        return {name: leak for name, leak in leaks.items() if leak}

    def _file(self, file: Path) -> str:
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return self.text(content)
