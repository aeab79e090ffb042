"""Lines of YAML that call programs, end in themselves, or make very much of very little."""

from __future__ import annotations

__all__ = ["TRAPS"]

TRAPS = (
    "a: &a [*a]",
    "a: &a {b: *a}",
    "a: &a ['x','x','x','x','x','x','x','x','x']\n"
    + "\n".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]" for n in range(9)),
    "? [a, b]\n: c",
    "? {a: b}\n: c",
    "<<: [1, 2]",
    "<<: &m {<<: *m}",
    "a: !!python/object/apply:os.system ['touch owned']",
    "a: !!python/name:os.system",
    "a: !!binary 'x'",
    "a: !!int 'x'",
    "a: !!float 'x'",
    "a: !!timestamp 'x'",
    "a: 2001-99-99",
    "a: 1_000_000:99:99",
    "a: " + "9" * 5000,
    "a: !!set {a, b}",
    "a: !!omap [a: b]",
    "a: .nan",
    'a: "{{ 9**9**9 }}"',
    "a: \"{{ 'x' * 10**10 }}\"",
    'a: "{{ range(10**9) | list }}"',
    'a: "{{ env.__init__.__globals__ }}"',
    "a: \"{{ env('A').format }}\"",
    "a: \"{{ ''.join(['x'] * 10**9) }}\"",
    "a: \"{{ env('NOWHERE') }}\"",
    'a: "{{ env(1) }}"',
    'a: "{{ env() }}"',
    "a: \"{{ env('A' ~ '\\0') }}\"",
    'a: "{{ 1 / 0 }}"',
    'a: "{{ lipsum(n=10**6) }}"',
    "a: \"{% include '/etc/passwd' %}{{ 1 }}\"",
    "%YAML 9.9\n--- a",
    "--- a\n--- b",
)
