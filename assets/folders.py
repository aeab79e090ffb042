"""Dagster's component trees for folders of pipelines, in the checkout or anywhere else."""

from __future__ import annotations

import importlib.machinery
import sys
import warnings
from hashlib import sha256
from pathlib import Path
from types import ModuleType

import dagster as dg

__all__ = ["folder_definitions"]


def folder_definitions(folder: Path) -> dg.Definitions:
    """Everything that the components and Python files of one folder define."""
    tree = dg.ComponentTree.from_module(defs_module=_module(folder), project_root=folder.parent)
    with warnings.catch_warnings():
        # Dagster 1.13 warns of its own insides: of ComponentTree, and of pydantic's parse_obj_as.
        for category in (dg.PreviewWarning, dg.BetaWarning, DeprecationWarning):
            warnings.simplefilter("ignore", category)
        # By path: the root's own definitions import every installed library that has components,
        # dagster_snowflake among them, which costs each run eight seconds.
        return tree.build_defs(folder)


def _module(folder: Path) -> ModuleType:
    """A package made by hand: Dagster wants a module, and a user's folder need not be one."""
    name = f"frazil_pipelines_{sha256(str(folder).encode()).hexdigest()[:8]}"
    spec = importlib.machinery.ModuleSpec(name, loader=None, is_package=True)
    spec.submodule_search_locations = [str(folder)]
    module = ModuleType(name)
    module.__spec__ = spec
    module.__path__ = [str(folder)]
    module.__file__ = str(folder / "__init__.py")
    sys.modules[name] = module
    return module
