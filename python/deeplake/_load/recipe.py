"""The parts of `transform=`: steps of the core, then steps of Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deeplake._errors import InvalidArgumentError
from deeplake.transforms import Joint, Lambda, Native


@dataclass
class Recipe:
    """The parts of a transform."""

    native: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    together: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, tuple[Callable[[Any], Any], ...]] = field(default_factory=dict)
    row: Callable[[Any], Any] | None = None
    # of all tensors that something is done to, but for `row`
    names: set[str] = field(default_factory=set)

    def options(self) -> dict[str, Any]:
        """Returns the options of the core."""
        return {"transform": self.native, "together": self.together} if self.native or self.together else {}


def recipe_of(transform: Any) -> Recipe:
    """Splits a transform: None, a dict, a Joint, a callable on the row, or a list of these."""
    recipe = Recipe()
    parts = list(transform) if isinstance(transform, Sequence) and not isinstance(transform, str) else [transform]
    for part in parts:
        if part is None:
            continue
        _check_made(part)
        if recipe.row is not None:
            raise InvalidArgumentError(f"load: transform: {part!r} stands after a callable on the row; put that last")
        if isinstance(part, Joint):
            _name(recipe, part.names, part)
            recipe.together.append(part.spec())
        elif isinstance(part, Mapping):
            for name, steps in part.items():
                _column(recipe, name, steps)
        elif isinstance(part, Native):
            raise InvalidArgumentError(f'load: transform {part!r} has no tensor; give a dict, {{"images": {part!r}}}')
        elif callable(part):
            recipe.row = part
        else:
            raise InvalidArgumentError(
                f"load: transform is a {type(part).__name__}, want a dict from tensor names to transforms, "
                "a Joint, one callable on the row, or a list of these"
            )
    return recipe


def _check_made(step: Any) -> None:
    """Refuses a class where one of its objects is meant: it can be called, and would be, with each
    sample.
    """
    if isinstance(step, type) and issubclass(step, Native | Joint | Lambda):
        raise InvalidArgumentError(f"load: transform {step.__name__} is a class; write {step.__name__}(...)")


def _name(recipe: Recipe, names: Sequence[str], part: Any) -> None:
    for name in names:
        if name in recipe.names:
            raise InvalidArgumentError(f'load: transform of "{name}": {part!r} comes after another one; make them one')
        recipe.names.add(name)


def _column(recipe: Recipe, name: str, given: Any) -> None:
    """Adds the steps of one tensor: natives first, then callables."""
    steps = tuple(given) if isinstance(given, Sequence) and not callable(given) else (given,)
    native: list[dict[str, Any]] = []
    python: list[Callable[[Any], Any]] = list(recipe.steps.get(name, ()))
    for step in steps:
        _check_made(step)
        if isinstance(step, Native):
            if python:
                raise InvalidArgumentError(
                    f'load: transform of "{name}": {step!r} stands after {python[-1]!r}, which runs in Python; '
                    "put native transforms first"
                )
            native.append(step.spec())
        elif callable(step):
            python.append(step)
        else:
            raise InvalidArgumentError(f'load: transform of "{name}": {step!r} is not callable')
    if native:
        if name in recipe.names:
            raise InvalidArgumentError(f'load: transform of "{name}": it stands in two transforms; make them one')
        recipe.native[name] = native
    recipe.names.add(name)
    if python:
        recipe.steps[name] = tuple(python)
