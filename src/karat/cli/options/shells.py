"""What click's completion does not do in each shell: words with `:` and `=`, and names with spaces and commas."""

from __future__ import annotations

import os
import re
from glob import escape, glob
from pathlib import Path

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)


@add_completion_class
class _Bash(BashComplete):
    """Puts the words together that bash cut at `:` and `=`, and offers the end of what it cut, as it is typed."""

    _raw = ""  # the word in work, as bash cuts it
    _typed = ""  # the value in work

    def get_completion_args(self) -> tuple[list[str], str]:
        line = ""
        for self._raw in os.environ["COMP_WORDS"].split("\n")[: int(os.environ["COMP_CWORD"]) + 1]:
            line += self._raw if {*line[-1:], *self._raw[:1]} & {":", "="} else f" {self._raw}"
        *words, last = split_arg_string(f"{line}x")  # so that a space at the end begins a word
        self._typed = last[:-1].partition("=")[2] if last.startswith("--") and "=" in last else last[:-1]
        return words[1:], last[:-1]

    def format_completion(self, item: CompletionItem) -> str:
        kept = "" if self._raw[:1] in (":", "=") else split_arg_string(f"{self._raw}x")[0][:-1]
        name = item.value[max(len(self._typed) - len(kept), 0) :]
        if self._raw[:1] not in ("'", '"'):
            name = re.sub(r"([^\w@%+=:,./~-])", r"\\\1", name)
        return f"{item.type},{name}".replace("\\", r"\\")  # as the script reads it without -r


class _WholeWords(ShellComplete):
    """Completion in shells that take `--option=value` for one word, also where they list files by themselves."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        items = super().get_completions(args, incomplete)
        option, equals, typed = incomplete.partition("=")
        if option.startswith("--") and equals:
            return [CompletionItem(f"{option}={name}") for item in items for name in _expand(item, typed)]
        return items


@add_completion_class
class _Zsh(_WholeWords, ZshComplete):
    """click's script."""


@add_completion_class
class _Fish(_WholeWords, FishComplete):
    """click's script, but for names with a comma."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')


def _expand(item: CompletionItem, typed: str) -> list[str]:
    """What an item offers: its value, or the files or folders whose path begins as typed."""
    if item.type == "plain":
        return [item.value]
    paths = [f"{path}{'/' * Path(path).is_dir()}" for path in sorted(glob(f"{escape(typed)}*"))]  # noqa: PTH207
    return [path for path in paths if item.type == "file" or path.endswith("/")]
